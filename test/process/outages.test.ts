import t, { type Test } from 'tap'
import { startDatabaseProxy } from '../stack/database-proxy.ts'
import { startKafka } from '../stack/kafka.ts'
import { startPostgres } from '../stack/postgres.ts'
import type { ServiceProcess } from '../stack/service.ts'
import { until } from '../stack/until.ts'
import { anEvent, aWorld, manyEvents } from '../stack/world.ts'
import { rowCount } from './rows.ts'

const PARTITION_COUNT = 2
const BACKLOG_COUNT = 3_000
const REPORTED_WITHIN_MS = 15_000

// Servers of this file alone, which stops and restarts them.
const [kafka, postgres] = await Promise.all([startKafka({ log: () => {} }), startPostgres()])
t.teardown(() => Promise.all([kafka.close(), postgres.close()]))
const skip = kafka.kind === 'mock' && 'the mock broker cannot be stopped and started again with its data'

const OUTAGES = {
  broker: { server: kafka, where: { brokers: kafka.brokers }, readinessWithout: 200 },
  database: { server: postgres, where: { serverUrl: postgres.url }, readinessWithout: 503 },
}

// Each test stops one of the servers only.
t.jobs = 2

const UNREACHABLE = 'the database cannot be used (ECONNREFUSED): run the command `doctor` to find out why'

for (const [name, { server, where, readinessWithout }] of Object.entries(OUTAGES)) {
  t.test(`an unreachable ${name} does not end the service`, { skip, buffered: true }, async (t) => {
    const world = await aWorld(t, { partitionCount: PARTITION_COUNT, ...where })
    let publishedCount = 0
    let service: ServiceProcess

    async function publish(count: number): Promise<void> {
      await world.publish(manyEvents(count, PARTITION_COUNT))
      publishedCount += count
    }
    const readinessIs = (status: number) =>
      until(async () => (await fetch(`${service.url}/readyz`)).status === status, {
        what: `readiness to be answered ${status}`,
      })
    const isLive = async () => (await fetch(`${service.url}/healthz`)).status === 200

    async function processesMore(t: Test): Promise<void> {
      await publish(300)
      await world.caughtUp()
      t.equal(await rowCount(world), publishedCount)
    }

    await t.test('a service that starts first works once it is up', async (t) => {
      await server.stop()
      service = await world.spawn({ BATCH_MAX: '50', MANAGEMENT_PORT: '0' })
      t.match(await service.logged(new RegExp(`^waiting for the ${name}\\b`)), { level: 'warn' })
      t.ok(await isLive())
      await readinessIs(readinessWithout)
      if (readinessWithout === 503)
        t.match(await (await fetch(`${service.url}/readyz`)).json(), { detail: UNREACHABLE })
      await server.start()
      await processesMore(t)
      await readinessIs(200)
    })

    await t.test(`the service waits for a ${name} that is killed during work`, async (t) => {
      const isUnderWay = async () => {
        const count = await rowCount(world)
        // On a busy machine all of it may be done before this process looks.
        if (count === publishedCount) {
          await publish(BACKLOG_COUNT)
          return false
        }
        return count > publishedCount - BACKLOG_COUNT
      }
      await until(isUnderWay, { what: 'the work to be under way', intervalMs: 10 })
      await server.kill()
      await readinessIs(readinessWithout)
      t.ok(await isLive())
      if (server === kafka) await consumingIs(/^the broker refuses or does not respond/, REPORTED_WITHIN_MS)
      await server.start()
      await readinessIs(200)
      await processesMore(t)
    })

    await t.test(`a ${name} that does not respond is reported within 15 s`, async () => {
      if (server !== kafka) return
      await consumingIs(/^yes$/)
      process.kill(Number(kafka.pid()), 'SIGSTOP')
      try {
        await consumingIs(/^the broker accepts no request of this member$/, REPORTED_WITHIN_MS)
      } finally {
        process.kill(Number(kafka.pid()), 'SIGCONT')
      }
      await consumingIs(/^yes$/)
    })

    await t.test('the service stops with 0 afterwards', async (t) => {
      t.equal(await service.stop(), 0)
    })

    /** Waits for the state that the console shows; `yes` without a problem. */
    async function consumingIs(pattern: RegExp, timeoutMs?: number): Promise<void> {
      const url = await service.managementUrl()
      const isSo = async () => {
        const status = await (await fetch(`${url}/console/data/status`)).json()
        return pattern.test((status as { consuming: string | null }).consuming ?? 'yes')
      }
      await until(isSo, { what: `consuming to be ${pattern}`, ...(timeoutMs && { timeoutMs }) })
    }
  })
}

t.test('dead connections to the database are closed, even without a FIN', async (t) => {
  const world = await aWorld(t, { partitionCount: 1 })
  const path = await startDatabaseProxy(world.databaseUrl)
  t.teardown(() => path.close())
  const service = await world.serve({ DATABASE_URL: path.url })
  await world.publish([anEvent()])
  await world.caughtUp()
  path.goDead()
  await world.publish([anEvent()])
  await world.caughtUp()
  const attempts = service.lines.filter(({ msg }) => msg.startsWith('a partition is blocked'))
  t.ok(attempts.length <= 1, `${attempts.length} attempts failed: those that were idle meanwhile were closed`)
  await service.stop()
})
