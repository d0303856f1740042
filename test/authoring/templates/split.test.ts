import t from 'tap'
import { splitSource } from '../../../src/service/decide/templates/render.ts'

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
