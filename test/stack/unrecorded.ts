// tap records what each process and its children load, for coverage and for `tap list`, which nobody asks for here. That takes
// a fifth of the time of all tests, and has the service run otherwise than users run it. Imported before tap's recorder.
process.env._TAPJS_PROCESSINFO_EXCLUDE_ = '/./'
delete process.env.NODE_OPTIONS
