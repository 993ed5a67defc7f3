# SPDX-License-Identifier: BSD-2-Clause
# Manual pages, section 3, of public headers: awk -v dir=DIR -v version=VERSION -f man3.awk include/tamis/*.h
#
# NAME.h becomes the page tamis_NAME(3): what is declared there, in order, each declaration under a heading with the
# comment in front of it. Every function gets a file of its own that leads to the page. tamis.h becomes tamis(3), the list of
# all pages. What of a header is a declaration, and whose the comments are, follows from these rules of the headers:
#
#   - A comment that begins a line belongs to the declarations right behind it; with an empty line behind it, it stands alone.
#   - Declarations without an empty line or a comment between them belong together.
#   - In comments, "- " begins an item of a list, and a paragraph with lines indented by four is kept as it is.

BEGIN { date = "November 23, 2026" }

FNR == 1 {
    if (header != "")
        finish()
    header = FILENAME
    sub(/.*\/tamis\//, "tamis/", header)
    base = header
    sub(/.*\//, "", base)
    sub(/\.h$/, "", base)
    items = names = comment_lines = code_lines = depth = skipping = 0
    split("", functions)
    next # the licence
}

# ---- what is not a declaration ----

/^#if defined\(__GNUC__\)/ { skipping = 1 }
skipping { if (/^#endif/) skipping = 0; next }
/^\/\* clang-format o/ || /^#include/ || /^#ifndef TAMIS_[A-Z_0-9]*_H$/ || /^#define TAMIS_[A-Z_0-9]*_H$/ { next }
depth == 0 && /^(#ifdef __cplusplus|#endif|extern "C" \{|\})$/ { next }

# ---- comments ----

depth == 0 && !in_comment && /^\/\*/ { flush(); in_comment = 1; sub(/^\/\*/, " *") }
in_comment {
    ended = sub(/ ?\*\/[ \t]*$/, "")
    sub(/^ \*/, "")
    sub(/^ /, "")
    if (!($0 ~ /^ *$/ && (comment_lines == 0 || ended)))
        comment[++comment_lines] = $0
    if (ended)
        in_comment = 0
    next
}

# ---- declarations ----

/^[ \t]*$/ && depth == 0 { flush(); next }
{
    line = $0
    bare = line
    gsub(/\/\*[^*]*\*\//, "", bare)
    if (sub(/^TAMIS_API /, "", line)) {
        continued = 1
        if (match(bare, /tamis_[a-z0-9_]+\(/)) {
            name = substr(bare, RSTART, RLENGTH - 1)
            functions[++names] = name
            heading = heading (heading == "" ? "" : ", ") name
        }
    } else if (continued)
        sub(/^          /, "", line)
    if (bare ~ /;[ \t]*$/)
        continued = 0
    note_type(bare)
    code[++code_lines] = line
    in_macro = bare ~ /^#/ || (in_macro && macro_continues)
    macro_continues = bare ~ /\\$/
    if (!in_macro) # its braces say nothing about where a declaration ends
        depth += gsub(/\{/, "{", bare) - gsub(/\}/, "}", bare)
}

END { if (header != "") finish(); overview() }

# Keeps the first name of a type, macro or constant, for the heading of declarations without functions.
function note_type(bare) {
    if (type != "" && bare !~ /^\}/)
        return
    if (bare ~ /^#define/)
        type = substr(bare, 9)
    else if (bare ~ /^typedef .*\(\*tamis_/) {
        match(bare, /\(\*tamis_[a-z0-9_]+/)
        type = substr(bare, RSTART + 2, RLENGTH - 2)
    } else if (bare ~ /^typedef .*;/) {
        type = bare
        sub(/;.*/, "", type)
        sub(/.* \**/, "", type)
    } else if (bare ~ /^typedef (struct|enum|union) /) {
        type = bare
        sub(/^typedef (struct|enum|union) /, "", type)
    } else if (bare ~ /^(enum \{)? *TAMIS_[A-Z0-9_]+/) {
        type = bare
        sub(/^(enum \{)? */, "", type)
    } else if (bare ~ /^\} tamis_/)
        type = substr(bare, 3)
    sub(/[^A-Za-z0-9_].*/, "", type)
}

# Ends an item: the comment and the declarations that were read.
function flush(    i) {
    if (comment_lines == 0 && code_lines == 0)
        return
    if (comment_lines == 0 && heading == "" && type ~ /_INIT$/ && items > 0 && item_code[items] != "") {
        item_code[items] = item_code[items] "\n" # an initialiser goes with its struct
    } else {
        items++
        item_comment[items] = item_code[items] = ""
        item_heading[items] = heading != "" ? heading : type
        for (i = 1; i <= comment_lines; i++)
            item_comment[items] = item_comment[items] comment[i] "\n"
    }
    for (i = 1; i <= code_lines; i++)
        item_code[items] = item_code[items] code[i] "\n"
    comment_lines = code_lines = depth = continued = 0
    heading = type = ""
}

# ---- pages ----

function escaped(text) {
    gsub(/\\/, "\\e", text)
    gsub(/[ \t]+$/, "", text)
    if (text ~ /^[.']/)
        text = "\\&" text
    return text
}

function library_of(name) {
    if (name ~ /^redis(_|$)/)
        return "tamis-redis"
    if (name == "kafka")
        return "tamis-kafka"
    if (name == "guard" || name == "server")
        return "tamis-" name
    return name ~ /^(stream|extract|compressed|compression)$/ ? "tamis-stream" : "tamis"
}

function begin_page(file, page, description,    title) {
    title = toupper(page)
    print ".\\\" Made from the public headers by man3.awk: do not edit." > file
    print ".Dd " date "\n.Dt " title " 3\n.Os tamis " version "\n.Sh NAME" > file
    return file
}

function literal(file, text,    n, i, rows) {
    n = split(text, rows, "\n") - 1
    print ".Bd -literal" > file
    for (i = 1; i <= n; i++)
        print escaped(rows[i]) > file
    print ".Ed" > file
}

# Each sentence begins a line, as mdoc wants it.
function print_text(file, text) {
    while (match(text, /[.!?][)"']* +[A-Z(*`]/)) {
        print escaped(substr(text, 1, RSTART + RLENGTH - 2)) > file
        text = substr(text, RSTART + RLENGTH - 1)
    }
    print escaped(text) > file
}

# One paragraph of a comment. need_break: whether text before it has to be kept apart.
function paragraph(file, rows, n, need_break,    i, kept, listed) {
    for (i = 1; i <= n; i++)
        if (rows[i] ~ /^    /)
            kept = 1
    if (kept) {
        print ".Bd -literal" > file
        for (i = 1; i <= n; i++)
            print escaped(rows[i]) > file
        print ".Ed" > file
        return
    }
    if (need_break && rows[1] !~ /^- /)
        print ".Pp" > file
    for (i = 1; i <= n; i++) {
        if (rows[i] ~ /^- /) {
            if (!listed)
                print ".Bl -dash" > file
            listed = 1
            print ".It" > file
            sub(/^- /, "", rows[i])
        } else if (listed && rows[i] !~ /^ /) {
            print ".El" > file
            listed = 0
        }
        sub(/^ +/, "", rows[i])
        print_text(file, rows[i])
    }
    if (listed)
        print ".El" > file
}

function comment_text(file, text, need_break,    all, rows, n, i, count) {
    n = split(text, all, "\n")
    count = 0
    for (i = 1; i <= n; i++) {
        if (all[i] ~ /^ *$/) {
            if (count > 0) {
                paragraph(file, rows, count, need_break)
                need_break = 1
            }
            count = 0
        } else
            rows[++count] = all[i]
    }
}

function finish(    page, file, i, list, link) {
    flush()
    page = "tamis_" base
    if (base == "tamis")
        return
    file = dir "/" page ".3"
    begin_page(file, page)
    for (i = 1; i <= names; i++)
        print ".Nm " functions[i] (i < names ? " ," : "") > file
    if (names == 0)
        print ".Nm " page > file
    print ".Nd declarations of " header > file
    print ".Sh LIBRARY\nlib" library_of(base) ", by" > file
    print ".Ql pkg-config --cflags --libs " library_of(base) > file
    print ".Sh SYNOPSIS\n.In " header "\n.Sh DESCRIPTION" > file
    for (i = 1; i <= items; i++) {
        if (item_code[i] == "") {
            # A comment that stands alone. One with dashes around it is the title of what follows.
            if (item_comment[i] ~ /^-+ .* -+\n$/)
                continue
            comment_text(file, item_comment[i], i > 1)
            continue
        }
        print ".Ss " item_heading[i] > file
        literal(file, item_code[i])
        comment_text(file, item_comment[i], 1)
    }
    print ".Sh SEE ALSO\n.Xr tamis 1 ,\n.Xr tamis 3" > file
    close(file)
    pages[++page_count] = page
    page_names[page_count] = ""
    for (i = 1; i <= names; i++) {
        page_names[page_count] = page_names[page_count] (i > 1 ? ",\n" : "") functions[i]
        link = dir "/" functions[i] ".3"
        if (functions[i] == page)
            continue
        print ".so man3/" page ".3" > link
        close(link)
    }
}

function overview(    file, i) {
    file = dir "/tamis.3"
    begin_page(file, "tamis")
    print ".Nm tamis\n.Nd membership filters: the C interface\n.Sh SYNOPSIS\n.In tamis/tamis.h\n.Sh DESCRIPTION" > file
    print "Each header of tamis has a page with all that it declares.\nEach function leads to it.\n.Bl -tag -width Ds" > file
    for (i = 1; i <= page_count; i++)
        print ".It Xr " pages[i] " 3\n" (page_names[i] == "" ? "types" : page_names[i]) > file
    print ".El\n.Sh SEE ALSO\n.Xr tamis 1" > file
    close(file)
}
