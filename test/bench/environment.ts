import { constants } from 'node:os'

export function brokersFromEnvironment(): string {
  const brokers = process.env.MQ_BROKERS
  if (!brokers)
    throw new Error('MQ_BROKERS is not set: run this under test/stack/with-stack.ts, as make does')
  return brokers
}

/** A whole number above 0, as a variable says or else by default. */
export function numberFrom(name: string, byDefault: number): number {
  const text = process.env[name] ?? String(byDefault)
  if (!/^[1-9]\d*$/.test(text))
    throw new Error(`${name} must be a whole number above 0, not ${JSON.stringify(text)}`)
  return Number(text)
}

/** Whether policy administration names the party in its contacts; NAMED=0: it does not. */
export function namesParties(): boolean {
  return process.env.NAMED !== '0'
}

/** Ctrl-C ends what was started too, by exit handlers. Also silences a warning that kafkajs causes by a negative time-out. */
export function endWithSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => process.exit(128 + constants.signals[signal]))
  }
  process.removeAllListeners('warning')
}
