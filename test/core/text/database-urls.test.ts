import t from 'tap'
import { databaseUrls } from '../../../src/core/text/database-urls.ts'

t.test('a URL with several hosts becomes one URL for each, otherwise unchanged', async (t) => {
  t.same(databaseUrls('postgres://u:p@a:1,b,[::1]:3/db?sslmode=require'), [
    'postgres://u:p@a:1/db?sslmode=require',
    'postgres://u:p@b/db?sslmode=require',
    'postgres://u:p@[::1]:3/db?sslmode=require',
  ])
})

t.test('a URL with one host stays unchanged, even with commas elsewhere', async (t) => {
  for (const url of [
    'postgres://u:a%2Cb@h:1/d,b?x=1,2',
    'postgres://u:p,q@h/db',
    'postgresql:///db',
    'no URL',
  ])
    t.same(databaseUrls(url), [url])
})
