import t from 'tap'
import { createProgress } from '../../../src/commands/terminal/progress.ts'

function aStream(isTTY: boolean) {
  const written: string[] = []
  return { isTTY, written, write: (text: string) => written.push(text) > 0 }
}

t.test('on a terminal one line replaces the other, not too often', async (t) => {
  const stream = aStream(true)
  const progress = createProgress(stream)
  progress.show('1 event')
  progress.show('2 events')
  progress.clear()
  progress.show('3 events')
  t.same(stream.written, ['\r\u001b[K1 event', '\r\u001b[K', '\r\u001b[K3 events'])
})

t.test('elsewhere nothing is written', async (t) => {
  const stream = aStream(false)
  const progress = createProgress(stream)
  progress.show('1 event')
  progress.clear()
  t.same(stream.written, [])
})
