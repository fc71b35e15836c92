package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// bashScript returns the completion script for bash. It needs nothing of bash-completion and works with bash 3.2, which
// macOS has.
func bashScript(commands []completed) string {
	var groups, flags, values, args strings.Builder
	for _, name := range firstWords() {
		if words := group(name); words != nil {
			fmt.Fprintf(&groups, bashGroup, name, strings.Join(words, " "))
		}
	}
	for _, c := range commands {
		name := strings.ReplaceAll(c.name, " ", `\ `)
		list := make([]string, len(c.flags))
		for i, f := range c.flags {
			list[i] = "--" + f.name
			if f.kind != "" {
				fmt.Fprintf(&values, "\t%s:--%s) %s ;;\n", name, f.name, bashOffer(f.kind, f.choices))
			}
		}
		fmt.Fprintf(&flags, "\t%s) flags=\"%s\" ;;\n", name, strings.Join(list, " "))
		if c.kind != "" {
			fmt.Fprintf(&args, "\t%s) %s ;;\n", name, bashOffer(c.kind, c.choices))
		}
	}
	first := strings.Join(firstWords(), " ")
	return fmt.Sprintf(bashTemplate, first, groups.String(), flags.String(), values.String(), args.String())
}

// bashGroup takes the name of a group and the second words of its commands.
const bashGroup = `	%[1]s)
		if ((COMP_CWORD == 2)); then
			_sdd_eval_words "%[2]s"
			return
		fi
		command="%[1]s ${COMP_WORDS[2]}"
		;;
`

// bashOffer returns the command that offers values of a kind.
func bashOffer(k kind, choices []string) string {
	switch k {
	case kindFile:
		return "_sdd_eval_paths -f"
	case kindDir:
		return "_sdd_eval_paths -d"
	case kindRun:
		return "_sdd_eval_words \"$(_sdd_eval_runs)\""
	case kindChoice, kindCommand:
		return fmt.Sprintf("_sdd_eval_words %q", strings.Join(choices, " "))
	case kindList:
		return fmt.Sprintf("_sdd_eval_list %q", strings.Join(choices, " "))
	}
	return ":"
}

// bashTemplate takes the first words of the commands, and the cases for groups, flags, values of flags, and arguments.
const bashTemplate = `# bash completion for sdd-eval; written by "sdd-eval completion bash"

_sdd_eval_words() {
	COMPREPLY=($(compgen -W "$1" -- "$cur"))
}

_sdd_eval_list() {
	local done=""
	[[ $cur == *,* ]] && done=${cur%%,*},
	COMPREPLY=($(compgen -P "$done" -W "$1" -- "${cur##*,}"))
}

_sdd_eval_paths() {
	local path
	compopt -o filenames 2>/dev/null
	while IFS= read -r path; do
		COMPREPLY+=("$path")
	done < <(compgen "$1" -- "$cur")
}

_sdd_eval_runs() {
	"${COMP_WORDS[0]/#\~/$HOME}" __complete runs -- "${COMP_WORDS[@]}" 2>/dev/null
}

_sdd_eval() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} flags=""
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		_sdd_eval_words "%s --help --version"
		return
	fi
	case $command in
%s	esac
	# --flag=value is three words
	if [[ $cur == "=" ]]; then
		cur=""
	elif [[ $prev == "=" ]]; then
		prev=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	case $command in
%s	esac
	case $command:$prev in
%s	*)
		if [[ $cur == -* ]]; then
			_sdd_eval_words "$flags"
			return
		fi
		case $command in
%s		*) _sdd_eval_words "$flags" ;;
		esac
		;;
	esac
}

complete -F _sdd_eval sdd-eval
`

// zshScript returns the completion script for zsh. It can be sourced, and put into a directory of fpath as _sdd-eval.
func zshScript(commands []completed) string {
	var names, cases strings.Builder
	seconds := make(map[string]string) // the second words of groups
	for _, c := range commands {
		first, second, inGroup := strings.Cut(c.name, " ")
		switch {
		case !inGroup:
			fmt.Fprintf(&names, "\t\t%s\n", zshQuote(c.name+":"+c.short))
		case seconds[first] == "":
			fmt.Fprintf(&names, "\t\t%s\n", zshQuote(first+":"+groups[first]))
		}
		if inGroup {
			seconds[first] += fmt.Sprintf("\t\t\t%s\n", zshQuote(second+":"+c.short))
		}
		fmt.Fprintf(&cases, "\t%s)\n\t\t_arguments -S", strings.ReplaceAll(c.name, " ", `\ `))
		for _, f := range c.flags {
			help := strings.NewReplacer("[", "\\[", "]", "\\]").Replace(f.help)
			spec := fmt.Sprintf("--%s[%s]", f.name, help)
			if f.kind != "" {
				spec = fmt.Sprintf("--%s=[%s]:%s:%s", f.name, help, f.arg, zshOffer(f.kind, f.choices))
			}
			fmt.Fprintf(&cases, " \\\n\t\t\t%s", zshQuote(spec))
		}
		if c.kind != "" {
			fmt.Fprintf(&cases, " \\\n\t\t\t%s", zshQuote("*:"+string(c.kind)+":"+zshOffer(c.kind, c.choices)))
		}
		cases.WriteString("\n\t\t;;\n")
	}
	var inGroups strings.Builder
	for _, first := range slices.Sorted(maps.Keys(seconds)) {
		fmt.Fprintf(&inGroups, zshGroup, first, seconds[first])
	}
	return fmt.Sprintf(zshTemplate, names.String(), inGroups.String(), cases.String())
}

// zshGroup takes the name of a group and the descriptions of its commands.
const zshGroup = `	%[1]s)
		commands=(
%[2]s		)
		if ((CURRENT == 2)); then
			_describe command commands
			return
		fi
		command="%[1]s $words[2]"
		shift words
		((CURRENT--))
		;;
`

// zshOffer returns the action that offers values of a kind.
func zshOffer(k kind, choices []string) string {
	switch k {
	case kindFile:
		return "_files"
	case kindDir:
		return "_files -/"
	case kindRun:
		return "_sdd_eval_runs"
	case kindChoice, kindCommand:
		return "(" + strings.Join(choices, " ") + ")"
	case kindList:
		return "_values -s , value " + strings.Join(choices, " ")
	}
	return " "
}

func zshQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// zshTemplate takes the descriptions of the commands, and the cases for groups and for the commands' arguments.
const zshTemplate = `#compdef sdd-eval
# zsh completion for sdd-eval; written by "sdd-eval completion zsh"

_sdd_eval_runs() {
	local -a runs
	runs=(${(f)"$(${~program} __complete runs -- $words 2>/dev/null)"})
	compadd -V runs -a runs
}

_sdd_eval() {
	local -a commands
	commands=(
%s	)
	if ((CURRENT == 2)); then
		_describe command commands
		_arguments '--help[List the commands.]' '--version[Print the version.]'
		return
	fi
	local program=$words[1] command=$words[2]
	# what _arguments sees begins with the command
	shift words
	((CURRENT--))
	case $command in
%s	esac
	case $command in
%s	esac
}

if [[ $funcstack[1] == _sdd-eval ]]; then
	_sdd_eval "$@"
else
	compdef _sdd_eval sdd-eval
fi
`

// fishScript returns the completion script for fish.
func fishScript(commands []completed) string {
	var b strings.Builder
	b.WriteString(fishHead)
	for _, c := range commands {
		where, name := "__sdd_eval_first", c.name
		if first, second, ok := strings.Cut(c.name, " "); ok {
			where, name = fmt.Sprintf("'__sdd_eval_only %s'", first), second
			if second == group(first)[0] {
				fmt.Fprintf(&b, "complete -c sdd-eval -n __sdd_eval_first -a %s -d %s\n",
					first, fishQuote(groups[first]))
			}
		}
		fmt.Fprintf(&b, "complete -c sdd-eval -n %s -a %s -d %s\n", where, name, fishQuote(c.short))
	}
	b.WriteString("complete -c sdd-eval -n __sdd_eval_first -l help -d 'List the commands.'\n" +
		"complete -c sdd-eval -n __sdd_eval_first -l version -d 'Print the version.'\n")
	for _, c := range commands {
		on := fmt.Sprintf("\ncomplete -c sdd-eval -n '__sdd_eval_on %s'", c.name)
		for _, f := range c.flags {
			fmt.Fprintf(&b, "%s -l %s%s -d %s", on, f.name, fishOffer(" -r", f.kind, f.choices), fishQuote(f.help))
			on = strings.TrimPrefix(on, "\n")
			b.WriteString("\n")
		}
		if c.kind != "" {
			fmt.Fprintf(&b, "%s%s\n", on, fishOffer("", c.kind, c.choices))
		}
	}
	return b.String()
}

// fishOffer returns the options of complete that offer values of a kind.
func fishOffer(takesValue string, k kind, choices []string) string {
	switch k {
	case "":
		return ""
	case kindFile:
		return takesValue + " -F"
	case kindDir:
		return takesValue + " -a '(__fish_complete_directories)'"
	case kindRun:
		return takesValue + " -k -a '(__sdd_eval_runs)'"
	case kindChoice, kindCommand:
		return takesValue + " -a " + fishQuote(strings.Join(choices, " "))
	case kindList:
		list := fmt.Sprintf(`(__fish_complete_list , 'string split " " "%s"')`, strings.Join(choices, " "))
		return takesValue + " -a " + fishQuote(list)
	}
	return takesValue
}

func fishQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}

const fishHead = `# fish completion for sdd-eval; written by "sdd-eval completion fish"

function __sdd_eval_runs
	set -l words (commandline -opc)
	$words[1] __complete runs -- $words 2>/dev/null
end

function __sdd_eval_first
	test (count (commandline -opc)) -eq 1
end

function __sdd_eval_only
	set -l words (commandline -opc)
	test "$words[2..-1]" = "$argv"
end

function __sdd_eval_on
	set -l words (commandline -opc)
	set -l last (math 1 + (count $argv))
	test (count $words) -ge $last; and test "$words[2..$last]" = "$argv"
end

complete -c sdd-eval -e
complete -c sdd-eval -f
`
