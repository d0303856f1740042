import type { Logger } from 'pino'
import type { App } from '../../app/app.ts'

/**
 * The first signal stops in order (exit code 0), the second ends the process at once. Install it first: PID 1 of a container
 * ignores a signal without a handler, and nobody sends it twice.
 */
export function stopOnSignals(appOf: () => App | null, graceMs: number, log: Logger): void {
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

/** False if it took longer than the grace period. Nothing is lost then: uncommitted messages are redelivered. */
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
  log.info(inTime ? 'stopped' : 'not stopped within the grace period: exiting')
  return inTime
}
