package atif

import (
	"fmt"
	"io"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// MaxSize is the size of the largest file that is read, in bytes.
const MaxSize = 256 << 20

// Decode reads a trajectory and makes sure that it is all that the format asks for. An error names the line where the
// file is no JSON, else up to 20 places in it. Numbers in arguments and under extra keep their text, as
// [json.Number].
func Decode(r io.Reader) (*Trajectory, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read trajectory: %w", err)
	}
	if len(data) > MaxSize {
		return nil, fmt.Errorf("the trajectory has more than %d bytes", MaxSize)
	}
	if err := Check(data); err != nil {
		return nil, err
	}
	t := new(Trajectory)
	if err := jsonvalue.Decode(data, t); err != nil {
		return nil, fmt.Errorf("decode trajectory: %w", err)
	}
	return t, nil
}

// Encode returns the trajectory as a JSON text of several lines. What Check refuses is an error.
func Encode(t *Trajectory) ([]byte, error) {
	data, err := jsonvalue.MarshalIndent(t, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode trajectory: %w", err)
	}
	if err := Check(data); err != nil {
		return nil, fmt.Errorf("encode trajectory that could not be read: %w", err)
	}
	return append(data, '\n'), nil
}
