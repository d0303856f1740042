import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { startKafka } from '../stack/kafka.ts'
import { until } from '../stack/until.ts'
import { aWorld } from '../stack/world.ts'

// This file has its own, which it stops and starts again.
const kafka = await startKafka({ log: () => {} })
t.teardown(() => kafka.close())
const skip = kafka.kind === 'mock' && 'the mock broker cannot be stopped and started again with its data'
const TOLD_WITHIN_MS = 15_000

t.test('a broker that stops, or does not answer, is told within 15 s', { skip }, async (t) => {
  const world = await aWorld(t, { partitionCount: 1, brokers: kafka.brokers })
  const service = await world.serve({ MANAGEMENT_PORT: '0' })
  const { url } = await service.logged(/^the management listener is up$/)
  const consumingIs = (pattern: RegExp, timeoutMs = TOLD_WITHIN_MS) =>
    until(
      async () => {
        const response = await fetch(`${url}/console/data/status`)
        const { consuming } = (await response.json()) as { consuming: string | null }
        return pattern.test(consuming ?? 'yes')
      },
      { what: `consuming to be ${pattern}`, timeoutMs },
    )
  await consumingIs(/^yes$/, 60_000)
  await kafka.kill()
  await consumingIs(/^the broker refuses or does not respond/)
  await kafka.start()
  await consumingIs(/^yes$/, 60_000)
  const { stdout } = await promisify(execFile)('pgrep', [
    '-f',
    `kafka\\.Kafka ${kafka.dataDir.replace(/data$/, '')}`,
  ])
  const pid = Number(stdout)
  process.kill(pid, 'SIGSTOP')
  try {
    await consumingIs(/^the broker does not respond$/)
  } finally {
    process.kill(pid, 'SIGCONT')
  }
  await consumingIs(/^yes$/, 60_000)
})
