import t from 'tap'
import { describeClasses, foldEventTypes } from '../../../src/core/rules/event-classes.ts'
import { parseEventTypeCell } from '../../../src/core/rules/event-type-cell.ts'

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

t.test('event types in the same cells share a class', async (t) => {
  const cells = [
    'claim.paid or claim.void',
    'policy.issued or claim.void',
    'claim.rejected or claim.paid or x',
  ]
  t.strictSame(membersOf(cells, 'claim.paid'), ['claim.paid'])
  t.strictSame(membersOf(cells, 'claim.void'), ['claim.void'])
  t.strictSame(membersOf(cells, 'claim.rejected'), ['claim.rejected', 'x'])
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

t.test('a family is "any other" only if one of its types is named elsewhere', async (t) => {
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
