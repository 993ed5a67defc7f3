// SPDX-License-Identifier: BSD-2-Clause
// The lines of standard input that a blocklist may have. The answers are those of Guava in Java:
// c++ -std=c++17 share_with_guava.cpp $(pkg-config --cflags --libs tamis)
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <tamis/compat/funnel.h>
#include <tamis/compat/guava.h>
#include <tamis/tamis.h>

// BloomFilter.create(Funnels.stringFunnel(UTF_8), expected, fpp): a handle that frees itself. Errors are
// exceptions with the message of the library.
class BloomFilter {
  public:
    explicit BloomFilter(std::int64_t expected, double fpp = 0.03) {
        tamis_error err = TAMIS_ERROR_INIT;
        tamis_guava_options options = TAMIS_GUAVA_OPTIONS_INIT;
        tamis_guava *guava = nullptr;
        options.expected_insertions = expected;
        options.fpp = fpp;
        options.funnel = tamis_funnel_utf8;
        check(tamis_guava_create(&guava, &options, &err), err);
        guava_.reset(guava);
    }

    // True: a bit changed, so the text was certainly not there before.
    bool put(const std::string &text) {
        tamis_error err = TAMIS_ERROR_INIT;
        tamis_key key = {text.data(), text.size()};
        bool changed = false;
        check(tamis_guava_put(guava_.get(), &key, &changed, &err), err);
        return changed;
    }

    bool mightContain(const std::string &text) {
        tamis_error err = TAMIS_ERROR_INIT;
        tamis_key key = {text.data(), text.size()};
        bool might = true;
        check(tamis_guava_might_contain(guava_.get(), &key, &might, &err), err);
        return might;
    }

  private:
    static void check(tamis_status status, const tamis_error &err) {
        if (status != TAMIS_OK)
            throw std::runtime_error(err.text);
    }
    struct Free {
        void operator()(tamis_guava *guava) const {
            tamis_guava_free(guava);
        }
    };
    std::unique_ptr<tamis_guava, Free> guava_;
};

int main(int argc, char **argv) try {
    if (argc != 2)
        throw std::invalid_argument("give a file of names to block");
    std::ifstream file(argv[1]);
    if (!file)
        throw std::runtime_error(std::string(argv[1]) + ": cannot be read");
    std::vector<std::string> names;
    for (std::string name; std::getline(file, name);)
        names.push_back(name);

    BloomFilter blocked(static_cast<std::int64_t>(names.size()));
    for (const std::string &name : names)
        blocked.put(name);
    for (std::string line; std::getline(std::cin, line);)
        std::cout << (blocked.mightContain(line) ? "perhaps " : "no      ") << line << '\n';
    return 0;
} catch (const std::exception &error) {
    std::cerr << "share_with_guava: " << error.what() << '\n';
    return 2;
}
