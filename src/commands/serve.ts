import { Command } from 'commander'
import type { Logger } from 'pino'
import { type App, createApp } from '../app/app.ts'
import { loadConfig } from '../config/config.ts'
import { limitSilence } from '../postgres/connection/pool.ts'
import { createLog } from '../telemetry/log.ts'

export const serveCommand = new Command('serve')
  .description('consume events, retry failed notifications and serve HTTP until told to stop')
  .addHelpText(
    'after',
    '\nExit codes: 0 told to stop, and stopped in order, 1 it cannot go on, or not stop in time, 2 wrong usage.\n\nExample:\n  $ DATABASE_URL=… MQ_BROKERS=… POLICY_ADMIN_URL=… notifications-service serve',
  )
  .showHelpAfterError()
  .action(serve)

async function serve(): Promise<void> {
  const config = loadConfig(process.env)
  const log = createLog(config.logLevel)
  let app: App | null = null
  stopOnSignals(() => app, config.shutdownGraceMs, log)
  for (const warning of config.warnings) log.warn(warning)
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (err) => {
      log.fatal({ err }, `${event}: ending the process; what was under way is not committed and comes again`)
      process.exit(1)
    })
  }
  logWarnings(log)
  limitSilence()
  const created = await createApp(config, log)
  app = created
  const url = await created.start()
  log.info({ url }, 'listening')
  if (config.tokens === null) log.warn('all routes are open: set IDP_JWKS_URI to ask for tokens')
  created.failed.catch(async (err) => {
    log.fatal({ err }, 'consumption has ended for good: ending the process, to be started again')
    await stopWithin(created, config.shutdownGraceMs, log)
    process.exit(1)
  })
}

/** Warnings of the platform go to the log, like everything else, instead of to stderr. */
function logWarnings(log: Logger): void {
  process.removeAllListeners('warning')
  process.on('warning', (warning) => {
    log.warn({ err: warning }, `warning: ${warning.message}`)
  })
}

/**
 * The first signal stops in order, exit code 0; the second one ends the process at once. From the start on: the first
 * process of a container is not ended by a signal that it does not handle yet, and nobody sends it twice.
 */
function stopOnSignals(appOf: () => App | null, graceMs: number, log: Logger): void {
  let stopping = false
  const onSignal = async (signal: NodeJS.Signals): Promise<void> => {
    if (stopping) process.exit(1)
    stopping = true
    log.info({ signal }, 'stopping')
    const app = appOf()
    process.exit(app === null || (await stopWithin(app, graceMs, log)) ? 0 : 1)
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
}

/** False: it took longer than the grace period. Nothing is lost then either: what is not committed comes again. */
async function stopWithin(app: App, graceMs: number, log: Logger): Promise<boolean> {
  const late = new Promise<boolean>((resolve) => setTimeout(resolve, graceMs, false))
  const stopped = app.stop().then(
    () => true,
    (err: unknown) => {
      log.error({ err }, 'stopping failed')
      return false
    },
  )
  const inTime = await Promise.race([stopped, late])
  log.info(inTime ? 'stopped' : 'not stopped within the grace period: ending the process')
  return inTime
}
