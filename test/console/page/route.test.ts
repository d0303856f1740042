import t from 'tap'
import { buildHref, parseRoute } from '../../../src/console/page/route.ts'

t.test('an address leads to the view that it was made for', async (t) => {
  const odd = 'a/b?c=d&e#f %41 ü <img>'
  t.strictSame(parseRoute(buildHref(['parties', odd], { eventType: odd, blank: '', none: undefined })), {
    path: ['parties', odd],
    query: { eventType: odd },
  })
  t.equal(buildHref([]), '#/')
  t.equal(buildHref(['log'], { status: 'SENT' }), '#/log?status=SENT')
})

t.test('an invalid address leads to the start page', async (t) => {
  for (const hash of ['', '#', '#/', '#/%', '#/log/%zz'])
    t.strictSame(parseRoute(hash), { path: [], query: {} }, hash)
})
