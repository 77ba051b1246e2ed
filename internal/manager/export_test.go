package manager

// For tests outside, which may import planetest.
var (
	AddControllers = addControllers
	Fill           = fill
	Watched        = watched
)
