package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// table returns the tests of which each is a row.
func (r *agentv) table(file string) (all []agentvTest, err error) {
	_, data, err := r.read(filepath.Dir(file), filepath.Base(file))
	if err != nil {
		return nil, err
	}
	for row, err := range rows(data) {
		if err == nil && len(all) == 0 {
			err = checkHead(row.head)
		}
		if err == nil && (len(all) >= maxCases || row.line > maxEntries) {
			err = fmt.Errorf("more than %d tests", maxCases)
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", r.shown(file), err)
		}
		id := fmt.Sprintf("row-%d", len(all)+1)
		text, err := agentvRow(row.head, row.cells, id)
		if err != nil {
			return nil, fmt.Errorf("%q, line %d: %w", r.shown(file), row.line, err)
		}
		d := jsonLine(file, row.line, text)
		if err := d.Err(); err != nil {
			return nil, err
		}
		all = append(all, agentvTest{d.Root, filepath.Dir(file), id})
	}
	return all, nil
}

// checkHead returns an error if two columns of a table have one name.
func checkHead(names []string) error {
	seen := make(map[string]bool)
	for _, name := range names {
		if seen[name] {
			return fmt.Errorf("two columns have the name %q: rename one", name)
		}
		seen[name] = true
	}
	return nil
}

// agentvRow returns a row as a test in JSON.
func agentvRow(head, row []string, id string) ([]byte, error) {
	test, vars := map[string]any{"id": id}, make(map[string]any)
	var asserts []map[string]any
	least := make(map[string]string) // of assertions, by their column
	prefix, suffix, metric := "", "", ""
	var of []string // the columns of the assertions
	for i, cell := range row {
		if i >= len(head) {
			return nil, errors.New("the row has more columns than the first one")
		}
		key, text := head[i], strings.TrimSpace(cell)
		switch {
		case key == "id":
			if text != "" {
				test["id"] = cell
			}
		case key == "input":
			test["input"] = cell
		case strings.HasPrefix(key, "__expected"):
			if text != "" {
				a, err := agentvExpected(text)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", key, err)
				}
				asserts, of = append(asserts, a), append(of, key)
			}
		case key == "__prefix":
			prefix = cell
		case key == "__suffix":
			suffix = cell
		case key == "__metric":
			metric = text
		case key == "__description":
			test["criteria"] = cell
		case key == "__threshold":
			if text != "" {
				test["threshold"] = text
			}
		case strings.HasPrefix(key, "__config:"):
			column, ok := strings.CutSuffix(strings.TrimPrefix(key, "__config:"), ":threshold")
			if !ok {
				return nil, fmt.Errorf("the column %q is not known: only a threshold is configured", key)
			}
			if text != "" {
				least[column] = text
			}
		case strings.HasPrefix(key, "__metadata:"), key == "":
		case strings.HasPrefix(key, "__"):
			test[key] = cell // no test has this key
		default:
			if err := assign(vars, strings.Split(strings.TrimPrefix(key, "vars."), "."), cell); err != nil {
				return nil, err
			}
		}
	}
	if input, ok := test["input"].(string); ok {
		test["input"] = prefix + input + suffix
	} else if prefix+suffix != "" {
		return nil, errors.New("__prefix and __suffix are about a column input, which is not there")
	}
	for i, a := range asserts {
		if metric != "" {
			a["metric"] = metric
			if len(asserts) > 1 {
				a["metric"] = fmt.Sprintf("%s-%d", metric, i+1)
			}
		}
		for _, column := range []string{of[i], strings.TrimSuffix(of[i], "1")} {
			if score := least[column]; score != "" {
				a["min_score"] = score
			}
			delete(least, column)
		}
	}
	for column := range least {
		return nil, fmt.Errorf("__config: the row expects nothing in %q", column)
	}
	test["assert"], test["vars"] = asserts, vars
	if len(asserts) == 0 {
		delete(test, "assert")
	}
	return json.Marshal(test)
}

// assign sets the value of a name, or of a path.
func assign(vars map[string]any, path []string, value string) error {
	for _, name := range path[:len(path)-1] {
		in, ok := vars[name].(map[string]any)
		if !ok && vars[name] != nil {
			return fmt.Errorf("the columns of %q say different things", strings.Join(path, "."))
		}
		if !ok {
			in = make(map[string]any)
			vars[name] = in
		}
		vars = in
	}
	name := path[len(path)-1]
	if vars[name] != nil {
		return fmt.Errorf("the columns of %q say different things", strings.Join(path, "."))
	}
	vars[name] = value
	return nil
}

// agentvExpected returns the assertion that a cell is short for.
func agentvExpected(cell string) (map[string]any, error) {
	if file, ok := strings.CutPrefix(cell, "file://"); ok {
		return map[string]any{"type": "script", "command": []string{"python3", file}}, nil
	}
	kind, least, value := expected(cell, func(kind string) bool {
		return strings.ContainsAny(cell, ":)") || agentvTypes()[kind] != nil
	})
	a := map[string]any{"type": kind}
	switch {
	case value == "":
	case strings.HasSuffix(kind, "-any"), strings.HasSuffix(kind, "-all"):
		list, err := cells(value)
		if err != nil {
			return nil, err
		}
		a["value"] = list
	default:
		a["value"] = value
	}
	if score, err := strconv.ParseFloat(least, 64); err == nil {
		key := "min_score"
		if kind == "latency" || kind == "cost" {
			key = "threshold"
		}
		a[key] = score
	}
	return a, nil
}
