import t from 'tap'
import { loadPromises } from '../../../src/core/rules/load-promises.ts'
import { faultsIn } from '../build.ts'

const HEADINGS =
  'promise,event type,party,opted out,preferred channel,email on file,phone on file,outcome,send by,reason'

/** The faults of promises with these rows below the headings; the first is row 2. */
const faultsOf = (...rows: string[]) => faultsIn(() => loadPromises([HEADINGS, ...rows].join('\n'), []))

t.test('a row becomes a promise', async (t) => {
  t.match(
    loadPromises(
      `${HEADINGS}\n"So, yes.",claim.*,found,no,SMS,yes,no,SEND,EMAIL,\nNo.,,,,,,,not by SMS,,`,
      [],
    ),
    [
      {
        row: 2,
        name: 'So, yes.',
        when: {
          eventType: { text: 'claim.*' },
          party: 'found',
          optedOut: false,
          preferredChannel: 'SMS',
          emailOnFile: true,
          phoneOnFile: false,
        },
        expected: 'SEND',
        sendBy: 'EMAIL',
        reason: null,
      },
      {
        row: 3,
        when: { eventType: null, party: null, optedOut: null, emailOnFile: null },
        expected: 'not by SMS',
        sendBy: null,
      },
    ],
  )
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
  t.strictSame(
    faultsOf(
      ',,,,,,,SEND,,',
      'a,,,,,,,SNED,,',
      'a,,,,,,,not by post,,',
      'b,,,,,,,,,',
      'c,claim*,fond,ja,e-mail,,,SKIP,,',
      'd,,,,,,,SKIP,SMS,',
      'e,,,,,,,SEND,,no reason',
      'f,,,,,,,not SEND,EMAIL,x',
      'g,any others,,,,,,SEND,,',
    ),
    [
      'row 2, column "promise": is blank: say in one sentence what is promised',
      'row 3, column "outcome": "SNED" is not valid: use SEND, SKIP, FAIL, not SEND, not SKIP, not FAIL, not by EMAIL, not by SMS or not by IN_APP; did you mean "SEND"?',
      'row 4, column "promise": "a" is already the promise in row 3: say how this one differs',
      'row 4, column "outcome": "not by post" is not valid: use SEND, SKIP, FAIL, not SEND, not SKIP, not FAIL, not by EMAIL, not by SMS or not by IN_APP; did you mean "not by SMS"?',
      'row 5, column "outcome": is blank: use SEND, SKIP, FAIL, not SEND, not SKIP, not FAIL, not by EMAIL, not by SMS or not by IN_APP',
      'row 6, column "event type": "claim*" is not a wildcard: only the form claim.* is one (leave the cell blank for any event type)',
      'row 6, column "party": "fond" is not valid: use found, not found, unresolved or missing; did you mean "found"?',
      'row 6, column "opted out": "ja" is not valid: use yes or no',
      'row 6, column "preferred channel": "e-mail" is not valid: use EMAIL, SMS or IN_APP; did you mean "EMAIL"?',
      'row 7, column "send by": "SMS" with SKIP: leave it blank, only SEND has one',
      'row 8, column "reason": "no reason" with SEND: leave it blank, only SKIP and FAIL have one',
      'row 9, column "send by": "EMAIL" with not SEND: leave it blank, only SEND has one',
      'row 9, column "reason": "x" with not SEND: leave it blank, only SKIP and FAIL have one',
      'row 10, column "event type": "any others" has "others" where only "or" can stand',
    ],
  )
})
