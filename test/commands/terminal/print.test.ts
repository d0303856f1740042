import t from 'tap'
import { note, print, showProgress } from '../../../src/commands/terminal/print.ts'

const EMPTY_LINE = '\r\u001b[K'

for (const isTTY of [true, false]) {
  const where = isTTY
    ? 'on a terminal one line replaces the other, not too often'
    : 'elsewhere it is not shown'
  t.test(`progress: ${where}, and output begins on a new line`, async (t) => {
    const written: unknown[] = []
    let nowMs = 5_000
    t.intercept(performance, 'now', { value: () => nowMs })
    t.intercept(process.stderr, 'isTTY', { value: isTTY })
    for (const stream of [process.stdout, process.stderr])
      t.intercept(stream, 'write', { value: (text: string) => written.push(text) > 0 })
    showProgress('1 event')
    showProgress('2 events')
    nowMs += 100
    showProgress('3 events')
    await print('a line')
    showProgress('4 events')
    note('the end')
    const shown = (...texts: string[]) =>
      isTTY ? [...texts.map((text) => `${EMPTY_LINE}${text}`), EMPTY_LINE] : []
    t.same(written, [...shown('1 event', '3 events'), 'a line\n', ...shown('4 events'), 'the end\n'])
  })
}
