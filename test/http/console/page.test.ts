import { pathToFileURL } from 'node:url'
import t from 'tap'
import { readConsolePage } from '../../../src/http/console/page.ts'

t.test('the page and its files are read into memory, each with its content type', async (t) => {
  const folder = t.testdir({
    'index.html': '<!doctype html>',
    'a-1.js': '0',
    'b-2.css': '',
    'c-3.svg': '<svg/>',
  })
  const { html, assets } = readConsolePage(pathToFileURL(`${folder}/`))
  t.equal(html, '<!doctype html>')
  t.same(
    [...assets].map(([name, { type }]) => [name, type]),
    [
      ['a-1.js', 'text/javascript; charset=utf-8'],
      ['b-2.css', 'text/css; charset=utf-8'],
      ['c-3.svg', 'image/svg+xml'],
    ],
  )
  t.equal(assets.get('a-1.js')?.content.toString(), '0')
})

t.test('the error of a console that was not built names the remedy', async (t) => {
  const folder = pathToFileURL(`${t.testdir({})}/`)
  t.throws(() => readConsolePage(folder), {
    message: 'the console is missing or not readable: run `make build`',
  })
})
