import mustache from 'mustache'
import t from 'tap'
import { compileText, finish, render, splitSource } from '../../../../src/service/decide/templates/render.ts'
import { templatesWith } from '../../../authoring/templates/files.ts'
import fc from '../../../stack/properties.ts'

const ALL_IN_SUBJECT = 'Subject: {{eventType}}|{{locator}}|{{reason}}\n\n{{locator}}\n{{reason}}\n'
const GENERIC = ALL_IN_SUBJECT.replace(/\n\n.*/s, '\n\nA {{eventType}} event has occurred\n')

t.test('no variable can add a line to the subject, and so a header to an email', async (t) => {
  const templates = templatesWith({ 'claim.paid.mustache': ALL_IN_SUBJECT, 'generic.mustache': GENERIC })
  const breaks = ['\r\n', '\n', '\r', '\n\n', '\v', '\f', '\u0085', '\u2028', '\u2029', '\0', '\t']
  for (const lineBreak of breaks) {
    const hostile = `a${lineBreak}Bcc: x@example.com`
    for (const eventType of ['claim.paid', hostile]) {
      const variables = { eventType, locator: hostile, reason: hostile }
      const { subject, body, revision } = render(templates, variables)
      const shown = 'a Bcc: x@example.com'
      t.equal(subject, `${eventType === hostile ? shown : eventType}|${shown}|${shown}`)
      t.ok(body.includes(hostile))
      t.match(revision, /^[0-9a-f]{64}$/)
    }
  }
})

t.test('line breaks at the end of a body are removed, whether of text or of values', async (t) => {
  const source = 'Subject: s\n\n{{locator}}\n\n{{#reason}}\n{{reason}}\n{{/reason}}\n\n\n'
  const templates = templatesWith({ 'claim.paid.mustache': source })
  const bodyOf = (locator: string, reason: string | null) =>
    render(templates, { eventType: 'claim.paid', locator, reason }).body
  t.equal(bodyOf('CLM-1', null), 'CLM-1')
  t.equal(bodyOf('CLM-1', 'Late.\r\n'), 'CLM-1\n\nLate.')
  t.equal(bodyOf('\r\n', null), '')
})

t.test('a text of line breaks is rendered in linear time', async (t) => {
  const lineBreaks = '\n'.repeat(1_000_000)
  t.equal(finish({ subject: `${lineBreaks}x`, body: `${lineBreaks}x` }).body.length, 1_000_001)
})

t.test('a compiled template renders what mustache renders', async () => {
  const variable = fc.constantFrom('eventType', 'locator', 'reason')
  const template = fc.letrec((tie) => ({
    part: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom('Hello,', ' ', '\n', '\r\n', '{ ', '<&>', 'é😀', '{{! a comment }}'),
      variable.map((name) => `{{${name}}}`),
      variable.map((name) => `{{{${name}}}}`),
      fc
        .tuple(fc.constantFrom('#', '^'), variable, fc.array(tie('part')))
        .map(([sign, name, inner]) => `{{${sign}${name}}}${inner.join('')}{{/${name}}}`),
    ),
  })).part
  const text = fc.constantFrom('', 'CLM-1', '0', '<b>', 'a\nb', '{{reason}}')
  const variables = fc.record({ eventType: text, locator: text, reason: fc.option(text) })
  const templates = fc.array(template).map((parts) => parts.join(''))
  fc.assert(
    fc.property(templates, variables, (source, given) => {
      const expected = mustache.render(source, given, undefined, { escape: String })
      return compileText(source)(given) === expected
    }),
  )
})

t.test('a source is a subject, a blank line and the body', async (t) => {
  const parts = { subject: 'Hi {{locator}}', body: 'One\n\nTwo\n', bodyLine: 3 }
  t.strictSame(splitSource('Subject: Hi {{locator}}\n\nOne\n\nTwo\n'), parts)
  t.strictSame(splitSource('\uFEFFSubject: Hi {{locator}}\r\n\r\nOne\r\n\r\nTwo\r\n'), parts, 'BOM and CRLF')
  t.strictSame(splitSource('Subject:Hi {{locator}} \t\r  \rOne\r\rTwo\r'), parts, 'CR and stray blanks')
})

t.test('a source without a subject is all body', async (t) => {
  t.strictSame(splitSource('Hello\n\nyou'), { subject: '', body: 'Hello\n\nyou', bodyLine: 1 })
  t.strictSame(splitSource(''), { subject: '', body: '', bodyLine: 1 })
})
