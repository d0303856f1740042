import type { Logger } from 'pino'
import type { App } from '../../app/app.ts'

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const
type OnSignal = (signal: NodeJS.Signals) => void

let onSignal: OnSignal | null = null

/** Ends the process on a signal, with 0, until `stopOnSignals` says how to stop what is running by then. */
export function endOnSignals(): void {
  onSignal = () => process.exit(0)
  listen()
}

/** The first signal stops in order (exit code 0), the second ends the process at once. */
export function stopOnSignals(
  appOf: () => App | null,
  graceMs: number,
  log: Logger,
  exit: (code: number) => void = process.exit,
): void {
  let isStopping = false
  if (onSignal === null) listen()
  onSignal = async (signal) => {
    if (isStopping) return exit(1)
    isStopping = true
    log.info({ signal }, 'stopping')
    const app = appOf()
    exit(app === null || (await stopWithin(app, graceMs, log)) ? 0 : 1)
  }
}

function listen(): void {
  for (const signal of SIGNALS) process.on(signal, () => onSignal?.(signal))
  // Without a listener Node.js would open its inspector.
  process.on('SIGUSR1', () => {})
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
