import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { createThread } from '../../../src/app/workbench/thread.ts'
import { until } from '../../stack/until.ts'

const ENTRY = `
  import { parentPort, workerData } from 'node:worker_threads'
  let count = 0
  await new Promise((resolve) => setTimeout(resolve, workerData?.startMs ?? 0))
  parentPort.on('message', (said) => {
    if (said === 'hang') for (;;);
    if (said === 'fail') throw new Error('a bug')
    parentPort.postMessage(++count)
    if (said === 'fail later') setTimeout(() => { throw new Error('a bug') }, 0)
  })
  parentPort.postMessage(null)
`
const forever = () => new AbortController().signal

function threadOf(t: Test, options: { workerData: unknown; maxMs?: number }) {
  const entry = pathToFileURL(`${t.testdir({ 'entry.mjs': ENTRY })}/entry.mjs`)
  const thread = createThread<string, number>(entry, {
    maxMs: 60_000,
    idleMs: 60_000,
    isLast: () => true,
    ...options,
  })
  t.teardown(thread.close)
  const run = async (job: string, signal = forever()) => {
    for await (const count of thread.run(job, signal)) return count
    return null
  }
  return { run, isBusy: thread.isBusy }
}

t.test('a thread that fails, at work or idle, is replaced, and nothing else ends', async (t) => {
  const { run, isBusy } = threadOf(t, { workerData: null })
  t.same(await Promise.all([run('a'), run('b')]), [1, 2], 'one thread answers in turn')
  await t.rejects(run('fail'), { message: 'a bug' })
  t.equal(await run('c'), 1)
  await run('fail later').catch(() => {})
  const again = () => run('d').catch(() => null)
  await until(async () => (await again()) === 1, { what: 'a new thread to answer' })
  t.notOk(isBusy())
})

t.test('a job that is left before its turn leaves the thread to the next', async (t) => {
  const { run } = threadOf(t, { workerData: null })
  t.equal(await run('a'), 1)
  const left = new AbortController()
  const jobs = [run('b'), run('c', left.signal), run('d')]
  left.abort()
  t.match(await Promise.allSettled(jobs), [{ value: 2 }, { reason: { name: 'AbortError' } }, { value: 3 }])
})

t.test('a job that takes too long ends with its thread, whose start does not count', async (t) => {
  const { run } = threadOf(t, { workerData: { startMs: 1_600 }, maxMs: 1_500 })
  t.equal(await run('a'), 1)
  await t.rejects(run('hang'), { cause: { name: 'TimeoutError' } })
  t.equal(await run('b'), 1)
})
