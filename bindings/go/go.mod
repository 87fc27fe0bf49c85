module tutti

go 1.21
