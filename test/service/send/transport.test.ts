import t from 'tap'
import { runTransport } from './example/run.ts'

t.test('a transport behind a queue loses no mail when a process is killed', async (t) => {
  const outcome = await runTransport({
    mailCount: 300,
    killCount: 3,
    seed: 1,
    say: (line) => t.comment(line),
  })
  t.comment(outcome)
  t.match(outcome, { lost: 0, unsent: 0, underOtherKeys: 0, kills: { service: 1, relay: 2 } })
})
