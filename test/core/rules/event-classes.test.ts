import t from 'tap'
import { describeClasses, foldEventTypes } from '../../../src/core/rules/event-classes.ts'
import { matchesEventType, parseEventTypeCell } from '../../../src/core/rules/event-type-cell.ts'

function fold(cells: string[], knownEventTypes: string[] = []) {
  return foldEventTypes(
    cells.map((cell) => parseEventTypeCell(cell, [])),
    knownEventTypes,
  )
}

/** The members of the class of an event type, in words. */
function membersOf(cells: string[], eventType: string): readonly string[] | undefined {
  const { classes, classOf } = fold(cells)
  return classes[classOf(eventType)]?.members
}

t.test('without event type cells there is one class', async (t) => {
  t.match(fold([]).classes, [{ members: ['any other event type'] }])
  t.equal(fold([], ['claim.paid']).classOf('claim.paid'), 0)
})

t.test('a named type is a class of its own', async (t) => {
  const cells = ['claim.paid']
  t.strictSame(membersOf(cells, 'claim.paid'), ['claim.paid'])
  t.strictSame(membersOf(cells, 'claim.paid.late'), ['any other event type'])
  t.strictSame(membersOf(cells, 'Claim.paid'), ['any other event type'])
})

t.test('types that stand in the same cells share a class', async (t) => {
  const cells = [
    'claim.paid or claim.void',
    'policy.issued or claim.void',
    'claim.rejected or claim.paid or x',
  ]
  t.strictSame(membersOf(cells, 'claim.paid'), ['claim.paid'])
  t.strictSame(membersOf(cells, 'claim.void'), ['claim.void'])
  t.strictSame(membersOf(cells, 'claim.rejected'), ['claim.rejected', 'x'])
})

t.test('a wildcard takes what starts with its prefix, dot included', async (t) => {
  const cells = ['claim.*']
  for (const eventType of ['claim.paid', 'claim.', 'claim.a.b']) {
    t.strictSame(membersOf(cells, eventType), ['any other claim.*'], eventType)
  }
  for (const eventType of ['claim', 'claims.paid', 'xclaim.paid', '']) {
    t.strictSame(membersOf(cells, eventType), ['any other event type'], eventType)
    t.notOk(matchesEventType(parseEventTypeCell('claim.*', []), eventType), eventType)
  }
})

t.test('the longest of nested wildcards decides the class', async (t) => {
  const cells = ['a.*', 'a.b.*', 'a.b.c']
  t.equal(fold(cells).classes.length, 4)
  t.strictSame(membersOf(cells, 'a.x'), ['any other a.*'])
  t.strictSame(membersOf(cells, 'a.b'), ['any other a.*'])
  t.strictSame(membersOf(cells, 'a.b.x'), ['any other a.b.*'])
  t.strictSame(membersOf(cells, 'a.b.c'), ['a.b.c'])
  t.strictSame(membersOf(cells, 'a.b.c.d'), ['any other a.b.*'])
})

t.test('a family is "any other" only where one of it is named apart', async (t) => {
  const words = (cells: string[]) => {
    const { classes, classOf } = fold(cells)
    return describeClasses(
      classes.filter((_, index) => index === classOf('a.x')),
      classes,
    )
  }
  t.equal(words(['a.*']), 'a.*')
  t.equal(words(['a.*', 'ab.c']), 'a.*')
  t.equal(words(['a.*', 'a.b']), 'any other a.*')
  t.equal(words(['a.*', 'a.b.*']), 'any other a.*')
})

t.test('a cell and its negation make the same classes', async (t) => {
  const cells = ['not claim.* or policy.issued', 'claim.* or policy.issued']
  t.equal(fold(cells).classes.length, 2)
  t.strictSame(membersOf(cells, 'policy.issued'), ['any other claim.*', 'policy.issued'])
  t.strictSame(membersOf(cells, 'policy.lapsed'), ['any other event type'])
})

t.test('a type that is named where a fresh one would be is told apart from it', async (t) => {
  const cells = ['other', 'claim.other', 'claim.*']
  t.strictSame(membersOf(cells, 'other'), ['other'])
  t.strictSame(membersOf(cells, 'anything'), ['any other event type'])
  t.strictSame(membersOf(cells, 'claim.other'), ['claim.other'])
  t.strictSame(membersOf(cells, 'claim.else'), ['any other claim.*'])
})

t.test('names that objects inherit are types like any other', async (t) => {
  for (const eventType of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    t.strictSame(membersOf(['claim.paid'], eventType), ['any other event type'], eventType)
    t.strictSame(membersOf([eventType], eventType), [eventType], `${eventType}, named in a cell`)
  }
})

t.test('every type matches the same cells as the representative of its class', async (t) => {
  const texts = ['a.*', 'not a.b.*', 'a.b.c or d', 'not d or a.*', 'e.f.*', 'e.f.g']
  const { classes, classOf } = fold(texts, ['a.b.c', 'e.f.x', 'known'])
  for (const eventType of [
    'a',
    'a.x',
    'a.b.x',
    'a.b.c',
    'd',
    'd.x',
    'e.f',
    'e.f.g',
    'e.f.x',
    'known',
    'other',
    '',
  ]) {
    const representative = classes[classOf(eventType)]?.representative ?? 'none'
    for (const cell of texts.map((text) => parseEventTypeCell(text, []))) {
      t.equal(
        matchesEventType(cell, eventType),
        matchesEventType(cell, representative),
        `${cell.text}: ${eventType} as ${representative}`,
      )
    }
  }
})
