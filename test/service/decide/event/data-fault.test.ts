import t from 'tap'
import { judgeEvents, judgeLookUps } from '../../../../src/service/decide/event/data-fault.ts'

/** Events, those without a party, those without a text, and the faults. */
const EVENTS: readonly (readonly [number, number, number, ...string[]])[] = [
  [0, 0, 0],
  [1, 0, 0],
  [20, 19, 19],
  [1, 1, 0, 'no-party'],
  [20, 0, 20, 'no-text'],
  [20, 20, 20, 'no-party', 'no-text'],
]
t.test('only what is wrong with all events of a topic is a fault', async (t) => {
  for (const [eventCount, withoutParty, withoutText, ...codes] of EVENTS) {
    const found = judgeEvents('claims', { eventCount, withoutParty, withoutText })
    t.same(
      found.map(({ code }) => code),
      codes,
    )
    for (const { detail } of found) t.match(detail, `none of ${eventCount} event`)
  }
})

t.test('one party that is found shows that the path is right', async (t) => {
  t.match(judgeLookUps({ found: 0, notFound: 9 }), [
    { code: 'not-found', detail: /404 to all of 9 look-ups$/ },
  ])
  t.same(judgeLookUps({ found: 1, notFound: 9 }), [])
  t.same(judgeLookUps({ found: 0, notFound: 0 }), [])
})
