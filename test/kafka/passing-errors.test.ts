import kafkajs from 'kafkajs'
import t from 'tap'
import { LogInError } from '../../src/kafka/bearer-log-in.ts'
import { isPassing } from '../../src/kafka/membership.ts'

const { KafkaJSGroupCoordinatorNotFound, KafkaJSLockTimeout, KafkaJSNonRetriableError } = kafkajs

/** Its declared types deny the arguments that its constructors need. */
const make = (kind: new () => Error, ...args: unknown[]): Error => Reflect.construct(kind, args)
/** As kafkajs wraps what it gives up on. */
const givenUp = (cause: Error) => Object.assign(new KafkaJSNonRetriableError(cause.message), { cause })

t.test('errors by which kafkajs means a broker that went away do not end the process', async (t) => {
  const gone = make(KafkaJSGroupCoordinatorNotFound, 'Failed to find group coordinator')
  t.match(gone, { retriable: false }, 'kafkajs says that it is final')
  t.ok(isPassing(gone))
  t.ok(isPassing(make(KafkaJSLockTimeout, 'Timeout while acquiring lock')))
  t.ok(isPassing(givenUp(gone)))
})

t.test('a log-in that was broken off for want of an access token does not end the process', async (t) => {
  const brokenOff = Object.assign(new Error('Request is not valid given the current SASL state'), {
    type: 'ILLEGAL_SASL_STATE',
    retriable: false,
  })
  t.ok(isPassing(brokenOff))
  t.ok(isPassing(givenUp(new LogInError('the token endpoint cannot be used'))))
})

t.test('what is final stays so', async (t) => {
  t.notOk(isPassing(givenUp(new Error('Topic authorization failed'))))
  t.notOk(isPassing('nothing'))
})
