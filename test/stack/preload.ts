// Imported by each test process before tap's own modules.

// tap records what each process and its children load, for coverage and for `tap list`, which nobody asks for here. That takes
// a fifth of the time of all tests, and has the service run otherwise than users run it.
process.env._TAPJS_PROCESSINFO_EXCLUDE_ = '/./'
delete process.env.NODE_OPTIONS

// No reporter shows the standard error of a test process that an exception ends: a comment in its results does.
process.on('uncaughtExceptionMonitor', (error) =>
  process.stdout.write(`# ${String(error.stack ?? error).replaceAll('\n', '\n# ')}\n`),
)
