import kafkajs from 'kafkajs'
import t from 'tap'
import { LogInError } from '../../src/kafka/log-in.ts'
import { isPassing } from '../../src/kafka/membership.ts'

const { KafkaJSGroupCoordinatorNotFound, KafkaJSLockTimeout, KafkaJSNonRetriableError } = kafkajs

/** The declared types of kafkajs lack the arguments of its constructors. */
const make = (kind: new () => Error, ...args: unknown[]): Error => Reflect.construct(kind, args)
/** An error as kafkajs wraps it after its last try. */
const givenUp = (cause: Error) => Object.assign(new KafkaJSNonRetriableError(cause.message), { cause })

t.test('errors about an unreachable broker do not end the process', async (t) => {
  const gone = make(KafkaJSGroupCoordinatorNotFound, 'Failed to find group coordinator')
  t.match(gone, { retriable: false }, 'kafkajs says that it is final')
  t.ok(isPassing(gone))
  t.ok(isPassing(make(KafkaJSLockTimeout, 'Timeout while acquiring lock')))
  t.ok(isPassing(givenUp(gone)))
})

t.test('a log-in without an access token does not end the process', async (t) => {
  const brokenOff = Object.assign(new Error('Request is not valid given the current SASL state'), {
    type: 'ILLEGAL_SASL_STATE',
    retriable: false,
  })
  t.ok(isPassing(brokenOff))
  t.ok(isPassing(givenUp(new LogInError('the token endpoint cannot be used'))))
})

t.test('other fatal errors stay fatal', async (t) => {
  t.notOk(isPassing(givenUp(new Error('Topic authorization failed'))))
  t.notOk(isPassing('nothing'))
})
