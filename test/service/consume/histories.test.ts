import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { playHistory } from './histories/history.ts'

const SEED = process.env.SEED
const COUNT = Number(process.env.HISTORIES ?? 1_000)
/** Several times what they take. A history that never ends is one that fails. */
const timeout = 60_000 + 90 * COUNT

/** Plays seeds 1 to COUNT. Returns the failures. */
async function playAll(): Promise<string[]> {
  const failures: string[] = []
  const workerCount = Math.min(availableParallelism(), Math.ceil(COUNT / 5_000))
  const workers = Array.from({ length: workerCount }, (_, i) => {
    const workerData = { first: i + 1, end: COUNT + 1, step: workerCount }
    return new Worker(new URL('./histories/worker.ts', import.meta.url), { workerData })
  })
  await Promise.all(
    workers.map(
      (worker) =>
        new Promise<void>((resolve) => {
          worker.on('message', (failure: string) => failures.push(failure))
          worker.on('error', (error) => failures.push(String(error)))
          worker.on('exit', () => resolve())
        }),
    ),
  )
  return failures
}

const again = 'make test TESTS=test/service/consume/histories.test.ts SEED=<seed> plays one again'

if (SEED !== undefined) {
  t.test('the history of SEED', async (t) => {
    await t.resolves(playHistory(Number(SEED)))
  })
} else {
  t.test(`${COUNT} random histories lose, repeat and swap no committed message`, { timeout }, async (t) => {
    t.strictSame(await playAll(), [], again)
  })

  t.test('a batch with more records than fit on the stack is processed too', async (t) => {
    await t.resolves(playHistory(1, true))
  })
}
