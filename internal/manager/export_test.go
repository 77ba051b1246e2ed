package manager

// AddControllers is addControllers, for tests outside, which may import planetest.
var AddControllers = addControllers
