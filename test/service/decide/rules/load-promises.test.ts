import t from 'tap'
import { CHANNELS } from '../../../../src/service/decide/party/channel.ts'
import { loadPromises } from '../../../../src/service/decide/rules/load-promises.ts'
import { promise, promises, type Row } from '../../../authoring/build.ts'
import { faultsIn } from '../../build.ts'

const faultsOf = (...rows: Row[]) => faultsIn(() => loadPromises(promises(...rows), []))

t.test('a row becomes a promise', async (t) => {
  const when = {
    party: 'found',
    optedOut: false,
    preferredChannel: 'SMS',
    emailOnFile: true,
    phoneOnFile: false,
  } as const
  const send = { promise: 'So, yes.', eventType: 'claim.*', ...when, outcome: 'SEND', sendBy: 'EMAIL' }
  t.match(loadPromises(promises(promise(send), promise({ promise: 'No.', outcome: 'not by SMS' })), []), [
    {
      ...{ row: 2, name: 'So, yes.', expected: 'SEND', sendBy: 'EMAIL', reason: null },
      when: { ...when, eventType: { text: 'claim.*' } },
    },
    {
      ...{ row: 3, expected: 'not by SMS', sendBy: null },
      when: { eventType: null, party: null, optedOut: null, emailOnFile: null },
    },
  ])
})

t.test('a column of a fact may be missing, which means any', async (t) => {
  t.match(loadPromises('promise,event type,opted out,outcome,send by,reason\na,,yes,not SEND,,', []), [
    { when: { party: null, optedOut: true, emailOnFile: null }, expected: 'not SEND' },
  ])
})

t.test('a file without promises is refused', async (t) => {
  t.strictSame(faultsOf(), ['row 1: no line follows: add at least one promise below the headings'])
  t.throws(() => loadPromises('', []), {
    name: 'PromisesError',
    message:
      'the promises have 1 fault:\n  the file is empty: it needs a line of headings and at least one promise',
  })
})

t.test('each fault names row, column, value and remedy; all are reported at once', async (t) => {
  const notBy = `not by ${CHANNELS.slice(0, -1).join(', not by ')} or not by ${CHANNELS.at(-1)}`
  const outcomes = `use SEND, SKIP, FAIL, not SEND, not SKIP, not FAIL, ${notBy}`
  t.strictSame(
    faultsOf(
      promise({ promise: '' }),
      promise({ outcome: 'SNED' }),
      promise({ outcome: '' }),
      promise({ promise: 'c', eventType: 'claim*', party: 'fond', outcome: 'SKIP' }),
      promise({ promise: 'd', outcome: 'SKIP', sendBy: 'SMS' }),
      promise({ promise: 'e', outcome: 'SEND', reason: 'no reason' }),
      promise({ promise: 'f', sendBy: 'EMAIL', reason: 'x' }),
      promise({ promise: 'g', eventType: 'any others' }),
    ),
    [
      'row 2, column "promise": is blank: say in one sentence what is promised',
      `row 3, column "outcome": "SNED" is not valid: ${outcomes}; did you mean "SEND"?`,
      'row 4, column "promise": "a" is already the promise in row 3: say how this one differs',
      `row 4, column "outcome": is blank: ${outcomes}`,
      'row 5, column "event type": "claim*" is not a wildcard: only the form claim.* is one (leave the cell blank for any event type)',
      'row 5, column "party": "fond" is not valid: use found, not found, unresolved or missing; did you mean "found"?',
      'row 6, column "send by": "SMS" with SKIP: leave it blank, only SEND has one',
      'row 7, column "reason": "no reason" with SEND: leave it blank, only SKIP and FAIL have one',
      'row 8, column "send by": "EMAIL" with not SEND: leave it blank, only SEND has one',
      'row 8, column "reason": "x" with not SEND: leave it blank, only SKIP and FAIL have one',
      'row 9, column "event type": "any others" has "others" where only "or" can stand',
    ],
  )
})
