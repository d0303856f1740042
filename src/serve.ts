import type { Logger } from 'pino'
import { type App, createApp } from './service/app/app.ts'
import { loadConfig } from './service/config/config.ts'
import { createLog } from './service/telemetry/log.ts'
import { createLogOutput } from './service/telemetry/log-output.ts'
import { newCommand } from './terminal/options.ts'
import { stopOnSignals } from './terminal/stop-on-signals.ts'

export const serveCommand = newCommand('serve', {
  exitCodes: '0 stopped in order by a signal, 1 cannot continue or did not stop in time',
  example: 'serve',
})
  .description('consume events, retry failed notifications and serve HTTP until stopped')
  .action(serve)

async function serve(): Promise<void> {
  const config = loadConfig(process.env)
  const output = createLogOutput()
  const log = createLog(config.logLevel, output)
  let app: App | null = null
  stopOnSignals(() => app, config.shutdownGraceMs, log, output.exit)
  for (const warning of config.warnings) log.warn(warning)
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (err) => {
      log.fatal({ err }, `${event}: exiting; the running batch is not committed and will be redelivered`)
      process.exit(1)
    })
  }
  logWarnings(log)
  if (!process.execArgv.some((option) => option.startsWith('--heap-growing-percent')))
    log.info(
      "memory is limited only by Node's defaults; start src/main.ts directly to apply the limits in the README",
    )
  app = await createApp(config, log)
  const url = await app.start()
  log.info({ url }, 'listening')
  if (config.tokens === null) log.warn('all routes are open: set IDP_JWKS_URI to require tokens')
}

/** Sends Node's own warnings to the log instead of stderr. */
function logWarnings(log: Logger): void {
  process.removeAllListeners('warning')
  process.on('warning', (warning) => {
    log.warn({ err: warning }, `warning: ${warning.message}`)
  })
}
