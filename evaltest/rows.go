package evaltest

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/tooltrajectory"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/project"
)

// record is a row as written in a file: its keys with values in JSON.
type record struct {
	line   int
	fields map[string]json.RawMessage
}

// The keys of a row.
const (
	keyID           = "id"
	keyName         = "name"
	keyInput        = "input"
	keyMetadata     = "metadata"
	keyExpected     = "expected"
	keyExpectedFile = "expected_file"
)

var rowKeys = []string{keyID, keyName, keyInput, keyMetadata, keyExpected, keyExpectedFile}

// readRows reads the rows in a file. The error lists everything that is wrong, a line each.
func readRows[In, Want any](file string) ([]Row[In, Want], error) {
	data, err := readData(file)
	if err != nil {
		return nil, err
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // Excel begins CSV with it
	var records []record
	switch ext := filepath.Ext(file); ext {
	case ".jsonl":
		records, err = jsonLines(file, data)
	case ".yaml", ".yml":
		records, err = yamlItems(file, data)
	case ".csv":
		records, err = csvLines(file, data, map[string]reflect.Type{
			keyID: reflect.TypeFor[string](), keyExpectedFile: reflect.TypeFor[string](),
			keyInput: reflect.TypeFor[In](), keyExpected: reflect.TypeFor[Want](),
			keyName: reflect.TypeFor[string](), keyMetadata: reflect.TypeFor[map[string]any](),
		})
	default:
		err = fmt.Errorf("%s: rows are in files with the extension .jsonl, .yaml, .yml or .csv", file)
	}
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, fmt.Errorf("%s: it has no rows, so it could not fail", file)
	}
	var errs []error
	rows := make([]Row[In, Want], len(records))
	lines := make(map[string]int)
	for i, r := range records {
		if err := decodeRow(r, filepath.Dir(file), &rows[i]); err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w", file, r.line, err))
			continue
		}
		folded := strings.ToLower(rows[i].ID) // they name recordings, and not all file systems tell case apart
		if first, dup := lines[folded]; dup {
			errs = append(errs, fmt.Errorf("%s:%d: duplicate id %q, first on line %d", file, r.line, rows[i].ID, first))
		}
		lines[folded] = r.line
		if r.expects() != records[0].expects() {
			errs = append(errs, fmt.Errorf("%s:%d: either all rows say what is expected, or none", file, r.line))
		}
	}
	return rows, errors.Join(errs...)
}

func (r record) expects() bool {
	return r.fields[keyExpected] != nil || r.fields[keyExpectedFile] != nil
}

// decodeRow decodes a record of a file in dir.
func decodeRow[In, Want any](r record, dir string, row *Row[In, Want]) error {
	for _, key := range slices.Sorted(maps.Keys(r.fields)) {
		if !slices.Contains(rowKeys, key) {
			return fmt.Errorf("unknown key %q%s: a row has %s", key, doc.DidYouMean(key, rowKeys),
				strings.Join(rowKeys, ", "))
		}
		if string(r.fields[key]) == "null" {
			return fmt.Errorf("%s: must not be null", key)
		}
	}
	var file string
	for _, f := range []struct {
		key      string
		v        any
		required bool
	}{
		{keyID, &row.ID, true},
		{keyName, &row.Name, false},
		{keyInput, &row.Input, true},
		{keyMetadata, &row.Metadata, false},
		{keyExpected, &row.Expected, false},
		{keyExpectedFile, &file, false},
	} {
		value, ok := r.fields[f.key]
		if !ok && f.required {
			return fmt.Errorf("`%s` is required", f.key)
		}
		if ok {
			if err := jsonvalue.DecodeStrict(value, f.v, jsonvalue.Floats|jsonvalue.NoNull); err != nil {
				return fmt.Errorf("%s: %w", f.key, err)
			}
		}
	}
	if !idPattern.MatchString(row.ID) {
		return fmt.Errorf("id: %q must match %s", row.ID, idPattern)
	}
	if r.fields[keyExpectedFile] == nil {
		return nil
	}
	if r.fields[keyExpected] != nil {
		return errors.New("set either `expected` or `expected_file`, not both")
	}
	path := filepath.Join(dir, filepath.FromSlash(file))
	if err := readExpected(path, path, &row.Expected); err != nil {
		return fmt.Errorf("expected_file: %w", err)
	}
	return nil
}

// jsonLines reads an object a line. Empty lines are passed over.
func jsonLines(file string, data []byte) ([]record, error) {
	var records []record
	var errs []error
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		r := record{line: n}
		err := jsonvalue.DecodeStrict(line, &r.fields, 0)
		if _, other := errors.AsType[*json.UnmarshalTypeError](err); other || err == nil && r.fields == nil {
			err = errors.New("a row is an object")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w", file, n, err))
		}
		records = append(records, r)
	}
	return records, errors.Join(errs...)
}

// yamlItems reads a list of mappings.
func yamlItems(file string, data []byte) ([]record, error) {
	d := doc.Parse(file, data)
	if d.Root != nil && d.Root.Kind() != doc.List {
		d.Root.Errorf("", "must be a list of rows")
	}
	var records []record
	for _, item := range d.Root.Items() {
		r := record{line: item.Position().Line, fields: make(map[string]json.RawMessage)}
		if item.Kind() != doc.Map {
			item.Errorf("", "a row is a mapping")
		}
		for _, e := range item.Entries() {
			value, err := json.Marshal(e.Value.Value())
			if err != nil {
				e.Value.Errorf("", "%v", err)
			}
			r.fields[e.Key] = value
		}
		records = append(records, r)
	}
	return records, d.Err()
}

// csvLines reads a header, whose columns have these types, and a row a line. A column "input.name" is a field of a
// struct.
func csvLines(file string, data []byte, columns map[string]reflect.Type) ([]record, error) {
	in := csv.NewReader(bytes.NewReader(data))
	header, err := in.Read()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	encode := make([]func(cell string) (json.RawMessage, error), len(header))
	for i, name := range header {
		key, field, _ := strings.Cut(name, ".")
		of, known := columns[key]
		if !known || slices.Index(header, name) < i {
			what := "unknown column"
			if known {
				what = "duplicate column"
			}
			return nil, fmt.Errorf("%s:1: %s %q%s: a row has %s", file, what, name, doc.DidYouMean(name, rowKeys),
				strings.Join(rowKeys, ", "))
		}
		if encode[i], err = cellOf(of, field); err != nil {
			return nil, fmt.Errorf("%s:1: column %q: %w", file, name, err)
		}
	}
	var records []record
	var errs []error
	for {
		cells, err := in.Read()
		if errors.Is(err, io.EOF) {
			return records, errors.Join(errs...)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err) // which has the line
		}
		line, _ := in.FieldPos(0)
		r, err := csvRecord(header, cells, encode)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w", file, line, err))
		}
		r.line = line
		records = append(records, r)
	}
}

func csvRecord(header, cells []string, encode []func(string) (json.RawMessage, error)) (record, error) {
	r := record{fields: make(map[string]json.RawMessage)}
	parts := make(map[string]map[string]json.RawMessage)
	for i, name := range header {
		value, err := encode[i](cells[i])
		if err != nil {
			return r, fmt.Errorf("column %q: %w", name, err)
		}
		key, field, isField := strings.Cut(name, ".")
		switch {
		case !isField && key == keyExpectedFile && cells[i] == "": // the row has none
		case !isField:
			r.fields[key] = value
		default:
			if parts[key] == nil {
				parts[key] = make(map[string]json.RawMessage)
			}
			parts[key][field] = value
		}
	}
	for key, fields := range parts {
		if r.fields[key] != nil {
			return r, fmt.Errorf("there are columns %q and %q", key, key+".")
		}
		value, err := json.Marshal(fields)
		if err != nil {
			return r, err
		}
		r.fields[key] = value
	}
	return r, nil
}

// cellOf returns how a cell of a column is written in JSON: one of a text as a text, any other as it stands there.
func cellOf(of reflect.Type, field string) (func(string) (json.RawMessage, error), error) {
	if field != "" {
		var err error
		if of, err = fieldOf(of, field); err != nil {
			return nil, err
		}
	}
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch of.Kind() {
	case reflect.String:
		return func(cell string) (json.RawMessage, error) { return json.Marshal(cell) }, nil
	case reflect.Struct:
		return nil, errors.New("write a column for each of its fields, such as input.question")
	}
	return func(cell string) (json.RawMessage, error) {
		if !json.Valid([]byte(cell)) {
			return nil, fmt.Errorf("%s is no %v in JSON", strconv.Quote(cell), of)
		}
		return json.RawMessage(cell), nil
	}, nil
}

// fieldOf returns the type of a struct's field by its name in JSON.
func fieldOf(of reflect.Type, name string) (reflect.Type, error) {
	if of.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%v has no fields", of)
	}
	fields := jsonvalue.Fields(of)
	if field, ok := fields[name]; ok {
		return field, nil
	}
	return nil, fmt.Errorf("%v has no field %q%s", of, name, doc.DidYouMean(name, slices.Sorted(maps.Keys(fields))))
}

// Calls are expected tool calls. In JSON they are a list of objects with the keys of a playbook's `expected`: tool or
// kind, and args, whose values are plain or matchers such as {"contains_ci": "todo"}.
type Calls []trajectory.Call

// UnmarshalJSON implements [json.Unmarshaler]. Unknown keys and malformed matchers are errors.
func (c *Calls) UnmarshalJSON(data []byte) error {
	var v any // written anew, there are no escapes that a playbook does not know
	if err := jsonvalue.DecodeStrict(data, &v, 0); err != nil {
		return err
	}
	plain, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return doc.Unplaced(c.parse("", plain)) // the positions are those of the plain text
}

// parse decodes the JSON of a file.
func (c *Calls) parse(file string, data []byte) error {
	d := doc.Parse(file, data)
	if d.Root != nil {
		*c = tooltrajectory.Calls(d.Root)
	}
	return d.Err()
}

// readExpected decodes a JSON file that holds what a row expects. Errors call it name.
func readExpected(path, name string, v any) error {
	data, err := readData(path)
	if err != nil {
		return err
	}
	if string(bytes.TrimSpace(data)) == "null" {
		return fmt.Errorf("%s: must not be null", name)
	}
	calls, ok := v.(*Calls)
	if ok {
		v = new(json.RawMessage)
	}
	if err := jsonvalue.DecodeStrict(data, v, jsonvalue.Floats|jsonvalue.NoNull); err != nil {
		return jsonvalue.In(name, err)
	}
	if ok {
		return calls.parse(name, data)
	}
	return nil
}

// readData reads a file that a suite depends on. The go command looks for changes of such files in the module alone, so
// the result of a suite with a file elsewhere must not come from go test's cache.
func readData(path string) ([]byte, error) {
	data, err := disk.ReadRegular(path, maxData)
	if err != nil {
		return nil, err
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	root, err := project.ModuleRoot(dir)
	if err != nil {
		return nil, err
	}
	if rel, err := filepath.Rel(root, full); err != nil || !filepath.IsLocal(rel) {
		return data, project.KeepOutOfCache(root)
	}
	return data, nil
}

// maxData is how large a file with rows, or with what they expect, may be, in bytes.
const maxData = 16 << 20
