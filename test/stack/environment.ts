import { constants } from 'node:os'

/** A whole number from the environment. Throws where it is none, or below `min`. */
export function numberFrom(name: string, byDefault: number, min = 1): number {
  const text = process.env[name] || String(byDefault)
  if (!/^\d{1,9}$/.test(text) || Number(text) < min)
    throw new Error(`${name} must be a whole number from ${min} on, not ${JSON.stringify(text)}`)
  return Number(text)
}

/** The brokers of the stack that runs. */
export function brokersFromEnvironment(): string {
  const brokers = process.env.MQ_BROKERS
  if (!brokers)
    throw new Error('MQ_BROKERS is not set: run this by make, or under test/stack/with-stack.ts -- <command>')
  return brokers
}

/** Ctrl-C ends what was started too, by exit handlers. Also silences a warning that kafkajs causes by a negative time-out. */
export function endWithSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => process.exit(128 + constants.signals[signal]))
  }
  process.removeAllListeners('warning')
}
