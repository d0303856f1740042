import type { Logger } from 'pino'
import type { App } from '../service/app/app.ts'
import { withTimeout } from '../service/time/with-timeout.ts'

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const
const PASSED_ON_MS = 1_000
interface First {
  readonly signal: NodeJS.Signals
  readonly atMs: number
}
type OnSignal = (signal: NodeJS.Signals) => void

let onSignal: OnSignal | null = null

/** Ends the process on a signal, with 0, until `stopOnSignals` takes over. */
export function endOnSignals(): void {
  onSignal = () => process.exit(0)
  listen()
}

/** The first signal stops in order (exit code 0), the second ends the process at once. */
export function stopOnSignals(
  currentApp: () => App | null,
  graceMs: number,
  log: Logger,
  exit: (code: number) => void = process.exit,
): void {
  let first: First | null = null
  if (onSignal === null) listen()
  onSignal = async (signal) => {
    if (first !== null) return isPassedOn(signal, first) ? undefined : process.exit(1)
    first = { signal, atMs: performance.now() }
    log.info({ signal }, 'stopping')
    const app = currentApp()
    exit(app === null || (await stopWithin(app, graceMs, log)) ? 0 : 1)
  }
}

/** A terminal signals a whole group; a shell as process 1 then also passes its signal on as SIGTERM. */
function isPassedOn(signal: NodeJS.Signals, first: First): boolean {
  const isSecond = signal === 'SIGTERM' && first.signal !== 'SIGTERM'
  return isSecond && process.ppid === 1 && performance.now() - first.atMs < PASSED_ON_MS
}

function listen(): void {
  for (const signal of SIGNALS) process.on(signal, () => onSignal?.(signal))
  // Without a listener Node.js would open its inspector.
  process.on('SIGUSR1', () => {})
}

/** False if the stop exceeded the grace period. Nothing is lost then: uncommitted messages are redelivered. */
async function stopWithin(app: App, graceMs: number, log: Logger): Promise<boolean> {
  const stopped = app.stop().then(
    () => true,
    (err: unknown) => {
      log.error({ err }, 'stopping failed')
      return false
    },
  )
  const inTime = await withTimeout(graceMs, stopped, () => false)
  log.info(inTime ? 'stopped' : 'not stopped within the grace period: exiting')
  return inTime
}
