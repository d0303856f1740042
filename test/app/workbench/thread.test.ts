import { pathToFileURL } from 'node:url'
import t from 'tap'
import { createThread } from '../../../src/app/workbench/thread.ts'
import { until } from '../../stack/until.ts'

const ENTRY = `
  import { parentPort } from 'node:worker_threads'
  let count = 0
  parentPort.on('message', (said) => {
    if (said === 'fail') throw new Error('a bug')
    parentPort.postMessage(++count)
    if (said === 'fail later') setTimeout(() => { throw new Error('a bug') }, 0)
  })
`
const forever = () => new AbortController().signal

t.test('a thread that fails, at work or idle, is replaced, and nothing else ends', async (t) => {
  const entry = pathToFileURL(`${t.testdir({ 'entry.mjs': ENTRY })}/entry.mjs`)
  const thread = createThread<string, number>(entry, {
    workerData: null,
    idleMs: 60_000,
    isLast: () => true,
  })
  t.teardown(thread.close)
  const run = async (job: string) => {
    for await (const count of thread.run(job, forever())) return count
    return null
  }
  t.same(await Promise.all([run('a'), run('b')]), [1, 2], 'one thread answers in turn')
  await t.rejects(run('fail'), { message: 'a bug' })
  t.equal(await run('c'), 1)
  await run('fail later').catch(() => {})
  const again = () => run('d').catch(() => null)
  await until(async () => (await again()) === 1, { what: 'a new thread to answer' })
  t.notOk(thread.isBusy())
})
