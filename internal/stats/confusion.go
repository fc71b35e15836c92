package stats

// Confusion counts trials by whether something was used, and whether it should be.
type Confusion struct {
	Fired    int `json:"fired"`    // it was, and should be
	Missed   int `json:"missed"`   // it was not, and should be
	Unwanted int `json:"unwanted"` // it was, and should not be
	Silent   int `json:"silent"`   // it was not, and should not be
}

// Add counts a trial.
func (c *Confusion) Add(wanted, fired bool) {
	switch {
	case fired && wanted:
		c.Fired++
	case wanted:
		c.Missed++
	case fired:
		c.Unwanted++
	default:
		c.Silent++
	}
}

// Precision returns the share that should have been used of the trials in which it was: NaN if it never was.
func (c Confusion) Precision() float64 { return Count{c.Fired, c.Fired + c.Unwanted}.Rate() }

// Recall returns the share in which it was used of the trials in which it should be: NaN if it never should.
func (c Confusion) Recall() float64 { return Count{c.Fired, c.Fired + c.Missed}.Rate() }
