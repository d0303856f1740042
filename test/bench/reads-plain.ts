// A bare Fastify app with the routes of the log, each of which runs one query through pg and answers its rows. The
// queries come in QUERIES: { list: { sql, values }, entry: { sql } }. Says its address on the first line.
import { fastify } from 'fastify'
import pg from 'pg'

const { list, entry } = JSON.parse(process.env.QUERIES ?? '{}')
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 })
const app = fastify()
app.get('/log/list', async () => ({ items: (await pool.query(list.sql, list.values)).rows }))
app.get<{ Params: { locator: string } }>(
  '/log/:locator',
  async ({ params }) => (await pool.query(entry.sql, [params.locator])).rows[0],
)
process.stdout.write(`${await app.listen({ host: '127.0.0.1', port: 0 })}\n`)
