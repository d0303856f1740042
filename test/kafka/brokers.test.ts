import t from 'tap'
import { CorrectableError } from '../../src/core/text/faults.ts'
import { untilAnswered } from '../../src/kafka/brokers.ts'

t.test('a fetch that a quota left without an answer is asked again', async (t) => {
  const answers = [undefined, undefined, 'bytes', 'more']
  t.equal(await untilAnswered(async () => answers.shift()), 'bytes')
  await t.rejects(
    untilAnswered(async () => undefined),
    { constructor: CorrectableError, message: /^a quota of the broker limits this client: / },
  )
})
