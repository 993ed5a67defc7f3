# SPDX-License-Identifier: BSD-2-Clause
# complete.zsh FOLDER LINES: what zsh offers at the end of each line of the file LINES, with the completion of
# FOLDER, as "== LINE" and below it the offers, each with its description.
# Completion runs in the line editor alone, so a second zsh gets a terminal and does it at its first prompt.
if [[ $1 != --inside ]]; then
    zmodload zsh/zpty
    export COMPLETE_ZSH=${0:A} COMPLETE_FOLDER=${1:A} COMPLETE_LINES=${2:A} COMPLETE_OUT=${TMPDIR:-/tmp}/complete.$$
    zpty inner zsh -f -i
    zpty -w inner 'source $COMPLETE_ZSH --inside'
    # What it draws is of no interest, but must be read.
    while zpty -r inner; do :; done >/dev/null
    cat $COMPLETE_OUT
    rm -f $COMPLETE_OUT
    exit
fi

fpath=($COMPLETE_FOLDER $fpath)
setopt extended_glob
autoload -Uz compinit
compinit -u -D
# One line an option, its letter apart; no question whether to show many, nothing cut off.
zstyle ':completion:*' list-grouped false
LISTMAX=-1 LINES=200 COLUMNS=200

# In place of the builtin: writes down the matches it adds, each with the text that is shown for it.
compadd() {
    local -a offers texts
    local -i i
    if (($argv[(I)-[OAD]] == 0)); then # with these it only asks
        i=$argv[(I)-(l|)d]
        ((i == 0)) || texts=("${(@P)argv[i+1]}")
        builtin compadd -A offers -D texts "$@"
        for ((i = 1; i <= $#offers; i++)); do
            print -r -- $offers[i]${texts[i]:+ ${texts[i]##*( )-- }} >>$COMPLETE_OUT
        done
    fi
    builtin compadd "$@"
}
complete-lines() {
    local line
    for line in ${(f)"$(<$COMPLETE_LINES)"}; do
        print -r -- "== $line" >>$COMPLETE_OUT
        BUFFER=$line CURSOR=$#line
        zle complete-word
    done
    exit
}
zle -N zle-line-init complete-lines
