// Imported by each test process before tap's own modules.
import asyncHooks from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'

// tap records what each process and its children load, for coverage and for `tap list`, which nobody asks for here. That takes
// a fifth of the time of all tests, and has the service run otherwise than users run it.
process.env._TAPJS_PROCESSINFO_EXCLUDE_ = '/./'
// Not inherited: this module. Child processes use the rules and texts that this process uses.
process.env.NODE_OPTIONS = '--conditions=first-rules'

// tap turns source maps on, and Node then reads those of each module that it loads: 0.1 s for each process. Node itself strips the
// types of the tests, and keeps each line and column in place.
process.setSourceMapsEnabled(false)
process.setSourceMapsEnabled = () => {}

// tap follows every promise and timer to learn which test an uncaught error belongs to, which more than doubles the time of
// busy tests. Without it, such an error still fails its file.
const idle: asyncHooks.AsyncHook = { enable: () => idle, disable: () => idle }
asyncHooks.createHook = () => idle
syncBuiltinESMExports()

// No reporter shows the standard error of a test process that an exception ends: a comment in its results does.
process.on('uncaughtExceptionMonitor', (error) =>
  process.stdout.write(`# ${String(error.stack ?? error).replaceAll('\n', '\n# ')}\n`),
)
