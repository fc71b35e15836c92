module example.com/work

go 1.25

require example.com/dep v1.0.0
