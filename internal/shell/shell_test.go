package shell

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/testkit/soak"
)

// lines are command lines with what they do, and why where that is not plain.
var lines = []struct{ line, deeds, why string }{
	{"go test ./...", "execute", "a program that is not known"},
	{"cat a.go", "read", ""},
	{"/bin/cat a.go", "read", "by the last part of the path"},
	{`\cat a.go`, "read", "the backslash only avoids an alias"},
	{"sed -n 1,80p a.go", "read", ""},
	{"sed -n '1,80p' a.go", "read", ""},
	{"head -n 20 a.go", "read", ""},
	{"nl -ba a.go | sed -n 1,80p", "read", "sed passes on what nl reads"},
	{"awk 'NR>3' a.go", "read", ""},
	{"cat < a.go", "read", ""},
	{"cat", "execute", "it has nothing to read, and a call does something"},
	{"while read l; do echo $l; done < a.txt", "read", ""},
	{"git show HEAD:a.go", "read", ""},
	{"git -C sub --no-pager diff", "read", ""},

	{"grep -rn 'x y' .", "search", ""},
	{"rg amount", "search", "it searches the directory"},
	{"git grep amount", "search", ""},
	{"git ls-files | grep go$", "search", "grep passes on"},
	{"ls -la", "search", ""},
	{"find . -name '*.go'", "search", ""},
	{"grep x a.go | head -5", "search", "head has no file"},
	{"if grep -q x a; then echo yes; fi", "search", ""},

	{"sed -i s/a/b/ a.go", "edit", ""},
	{"sed -i.bak -e s/a/b/ a.go", "edit", ""},
	{"sed -Ei s/a/b/ a.go", "edit", ""},
	{"sed --in-place=.bak s/a/b/ a.go", "edit", ""},
	{"sed -e s/-i/b/ a.go", "read", "-i is in the script"},
	{"perl -pi -e s/a/b/ a.go", "edit", ""},
	{"perl -0pi -e s/a/b/ a.go", "edit", ""},
	{"perl -ne print a.go", "read", ""},
	{"perl script.pl -i", "edit", "taken for perl's own: an option after the script's name is rare"},
	{"perl -MConfig -e 'unlink q(a)'", "execute", "nobody knows what the script does"},
	{"awk -i inplace '{print}' a.go", "edit", ""},
	{"echo x > a.go", "edit", ""},
	{"echo x >> a.go", "edit", ""},
	{"echo x >| a.go", "edit", ""},
	{"> a.go", "edit", ""},
	{"echo x | tee -a a.go", "edit", ""},
	{"cat > a.go <<'EOF'\nrm -rf $(x\nEOF\n", "edit", "what is written is no command"},
	{"cat <<EOF > a.go\nx\nEOF\ngo test", "edit execute", "the script goes on after the text"},
	{"cat <<-EOF | tee a.go\n\tx\n\tEOF\nrm b", "edit delete", ""},
	{"cat <<EOF\nx\nEOF", "execute", "it only prints"},
	{"apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: a\nEOF", "edit", ""},
	{"cd sub && apply_patch < p", "edit", ""},
	{"cp a b", "edit", ""},
	{"touch a", "edit", ""},
	{"git apply p", "edit", ""},
	{"git checkout -- a.go", "edit", ""},
	{"git checkout -b x", "execute", "it changes no file"},
	{"dd if=a of=b", "read edit", ""},
	{"sort -o a b", "read edit", ""},
	{"cat a > b", "read edit", ""},

	{"rm -rf a", "delete", ""},
	{"git rm a", "delete", ""},
	{"find . -name x -delete", "search delete", ""},
	{"find . -name x -exec rm {} +", "search delete", ""},
	{`find . -name x -exec sh -c 'cat $1; sed -i s/a/b/ $1' _ {} \;`, "search read edit", ""},
	{"find . -print0 | xargs -0 -n 1 rm", "search delete", ""},
	{"git ls-files | xargs sed -i s/a/b/", "search edit", ""},
	{"git ls-files | xargs grep x", "search search", ""},
	{"ls | xargs cat", "search read", "cat has operands that are not here"},
	{"fd -e go -x rm", "search delete", ""},
	{"mv a b", "move", ""},
	{"git mv a b", "move", ""},
	{"curl -s localhost", "fetch", ""},
	{"git pull", "fetch", ""},

	{"go test ./... 2>&1 | tail -20", "execute", "tail passes on"},
	{"go test ./... | grep FAIL", "execute", "grep passes on"},
	{"go test ./... 2>/dev/null", "execute", "a device is nobody's file"},
	{"go test ./... &> /dev/null", "execute", ""},
	{"go test ./... > out.txt 2>&1", "execute edit", "it writes a file"},
	{"go test ./... &> out.txt", "execute edit", ""},
	{"set -o pipefail; go vet ./... && go test ./... 2>&1 | tail -20", "execute execute", ""},
	{"cat a.go && sed -i s/a/b/ a.go && go test ./...", "read edit execute", "in the order of the line"},
	{"echo hi && pwd", "execute", "nothing else"},
	{"cd sub && ls", "search", "cd is left out"},
	{"python3 - <<'EOF'\nopen('a', 'w')\nEOF", "execute", "nobody knows what the script does"},

	{"FOO=1 BAR='a b' rm a", "delete", ""},
	{"FOO=1", "execute", ""},
	{"env -u HOME FOO=1 rm a", "delete", ""},
	{"sudo -u root rm a", "delete", ""},
	{"timeout -k 5 60 rm a", "delete", ""},
	{"timeout --signal=KILL 60 go test", "execute", ""},
	{"time nice -n 5 nohup rm a &", "delete", ""},
	{"command -v rm", "execute", "it only asks"},
	{"command rm a", "delete", ""},
	{"timeout --signal KILL 5 rm a", "delete", ""},
	{"timeout --sig KILL -k 1 5 rm a", "delete", "the beginning of an option will do"},
	{"timeout --foreground 5 rm a", "delete", "the option has no value"},
	{"gtimeout --kill-after 9 5 rm a", "delete", ""},
	{"ls | xargs --max-args 1 rm", "search delete", ""},
	{"ls | xargs --max-args=1 --null rm", "search delete", ""},
	{"ls | xargs --no-run-if-empty --max-procs 2 rm", "search delete", ""},
	{"env --chdir /x rm a", "delete", ""},
	{"env --unset HOME -i A=b rm a", "delete", ""},
	{"env -S 'rm -f' a", "delete", ""},
	{"env -i --split-string='A=b rm -f' a", "delete", ""},
	{"env '-Srm -f' a", "delete", ""},
	{"env rm -S a", "delete", "-S is rm's"},
	{"nice --adjustment 5 rm a", "delete", ""},
	{"ionice --class 2 --classdata 7 rm a", "delete", ""},
	{"sudo --user x --group y rm a", "delete", ""},
	{"sudo --non-interactive rm a", "delete", ""},
	{"stdbuf --output L rm a", "delete", ""},
	{"stdbuf -oL rm a", "delete", ""},
	{"time --format %e --output t rm a", "delete", ""},
	{"timeout --signal", "execute", "there is no command"},
	{"env", "execute", ""},
	{"bash -lc 'cd x && rm a'", "delete", ""},
	{"/bin/sh -ec \"grep x a; sed -i 's/a/b/' a\"", "search edit", ""},
	{"bash script.sh", "execute", "nobody knows what the script does"},
	{"bash <<EOF\nrm a\nEOF", "delete", ""},
	{"echo 'rm a' | sh", "execute", "what is printed is not known"},
	{`eval "rm a"`, "delete", ""},
	{"echo $(cat a)", "read", ""},
	{`git commit -m "$(cat <<'EOF'` + "\nit's done (\nEOF\n" + `)"`, "execute", "cat only prints the message"},
	{"echo `rm a`", "delete", ""},
	{`echo "$(rm a)"`, "delete", ""},
	{`echo '$(rm a)'`, "execute", "quoted"},
	{`echo \$\(rm a`, "execute", "escaped"},
	{"diff <(cat a) <(sort b)", "read read read", ""},
	{"(cd x; rm a) > log", "delete edit", ""},
	{"cat a | (grep x; rm b)", "read delete", "grep passes on"},
	{"for f in *.go; do sed -i s/a/b/ $f; done", "edit", ""},
	{"if [ -f a ]; then rm a; else touch a; fi", "delete edit", ""},
	{"[[ -f a && $b > 3 ]] && rm a", "delete", "operators within [[ ]] are words"},
	{"case $x in a) rm a;; *) touch a;; esac", "delete edit", ""},
	{"f() { rm a; }; echo", "delete", "taken as if it were called"},
	{"function f { rm a; }", "delete", ""},
	{"files=(a b); rm $files", "delete", ""},
	{"x=$((1 + (2))); rm a", "delete", ""},
	{"echo ${a:-${b}}; rm a", "delete", ""},
	{`echo $'it\'s'; rm a`, "delete", ""},
	{"rm a # && touch b", "delete", "a comment"},
	{"cat a \\\n  b", "read", "one line"},
	{"ls |\n  xargs rm", "search delete", ""},
	{"rm a\r\n", "delete", ""},
	{"echo a#b; rm a", "delete", "no comment"},

	{"", "execute", ""},
	{"rm 'a", "execute", "a shell refuses it"},
	{`rm "a`, "execute", ""},
	{"rm `a", "execute", ""},
	{"rm $(a", "execute", ""},
	{"echo a); rm b", "delete", "the parenthesis is taken for a pattern's"},
}

func text(deeds []Deed) string { return strings.Trim(fmt.Sprint(deeds), "[]") }

func TestLine(t *testing.T) {
	for _, test := range lines {
		assert.Equal(t, test.deeds, text(Line(test.line)), "%s\n%s", test.line, test.why)
	}
}

func TestWords(t *testing.T) {
	for _, test := range []struct {
		words []string
		deeds string
	}{
		{nil, "execute"},
		{[]string{"/bin/bash", "-lc", "cat a && sed -i s/a/b/ a"}, "read edit"},
		{[]string{"rm", "-f", "a b"}, "delete"},
		{[]string{"echo", "x", ">", "a"}, "execute"}, // no shell reads it
		{[]string{"apply_patch", "*** Begin Patch"}, "edit"},
	} {
		assert.Equal(t, test.deeds, text(Words(test.words)), "%q", test.words)
	}
}

// TestTables holds the tables to one row for a program.
func TestJoin(t *testing.T) {
	for want, words := range map[string][]string{
		"ls | wc":           {"/bin/bash", "-lc", "ls | wc"},
		"rm a":              {"sh", "-c", "rm a"},
		"python -c print()": {"python", "-c", "print()"},
		"bash -x run":       {"bash", "-x", "run"},
		"":                  nil,
	} {
		require.Equal(t, want, Join(words))
	}
}

func TestTables(t *testing.T) {
	names := 0
	for _, r := range rows {
		names += len(strings.Fields(r.names))
	}
	assert.Len(t, programs, names, "a name is in two rows")
	for name := range programs {
		assert.Nil(t, special(name), name)
		if name != "command" {
			assert.NotContains(t, wrappers, name)
		}
	}
	for name := range wrappers {
		assert.Nil(t, special(name), name)
	}
}

// TestBounds reads texts that would take quadratic time, or a deep stack, if nothing stood against it.
func TestBounds(t *testing.T) {
	n := 800_000
	if soak.Raced() {
		n /= 10
	}
	for _, part := range []string{
		"(", ")", "$(", "`", "`\\`", "$((", "${", "<(", "a=(", "'", `"`, `"$(`, `\`, "\\\n", "$'\\", "#", "\x00",
		"<<a ", "<<a\n", "<<a;", "a<<a;\n", "<<< a ", "> a ", "2>", "[[ ", "[[ ]] ", "rm a;", "cat a|", "a\n",
		"a=1 ", "for ", "f() ", "if ! {", "env ", "env -u ",
		"env -S a ", "env -Senv ", "timeout --signal ", "sudo -u x ", "xargs ", "find -exec ",
		"find . -exec find . ", "fd -x ", "bash -c ", "bash -c '", "eval ", "eval eval ", "git -C ",
	} {
		text := strings.Repeat(part, n/len(part))
		began := time.Now()
		found := Line(text)
		assert.Less(t, time.Since(began), time.Minute, "%q", part)
		assert.NotEmpty(t, found)
		assert.LessOrEqual(t, len(found), maxDeeds+len(Deeds()))
	}
	assert.Equal(t, "execute", text(Line("rm a;"+strings.Repeat(" ", maxLine))), "a script that is too long")
	many := Line(strings.Repeat("cat a;", 1000) + "rm a; rm b")
	assert.Equal(t, maxDeeds+1, len(many))
	assert.Equal(t, Delete, many[maxDeeds])
}

func FuzzLine(f *testing.F) {
	for _, test := range lines {
		f.Add(test.line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		found := Line(line)
		if len(found) == 0 || len(found) > maxDeeds+len(Deeds()) {
			t.Errorf("%d deeds", len(found))
		}
		for _, d := range found {
			if !slices.Contains(Deeds(), d) {
				t.Errorf("unknown deed %q", d)
			}
		}
		// What a shell of the line's own runs is what the line does.
		quoted := "sh -c '" + strings.ReplaceAll(line, "'", `'\''`) + "'"
		if got := Line(quoted); len(line) < 1000 && !slices.Equal(got, found) {
			t.Errorf("%q: %v, and within sh -c %v", line, found, got)
		}
		Words(strings.Fields(line))
	})
}
