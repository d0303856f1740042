import { join } from 'node:path'
import t, { type Test } from 'tap'
import { tokenCheck } from '../../../src/operations/doctor/identity-provider.ts'
import { loadConfig } from '../../../src/service/config/config.ts'
import {
  ADMIN_SCOPE,
  AUDIENCE,
  OPERATOR_SCOPE,
  startIdentityProvider,
} from '../../stack/identity-provider.ts'

const idp = await startIdentityProvider()
t.teardown(() => idp.stop())
const SETTINGS = {
  ...{ DATABASE_URL: 'postgres://db', MQ_BROKERS: 'broker:9092', POLICY_ADMIN_URL: 'http://policies' },
  ...{ IDP_JWKS_URI: idp.keySetUrl, IDP_ISSUER: idp.issuer, IDP_AUDIENCE: AUDIENCE },
  IDP_ADMIN_SCOPE: ADMIN_SCOPE,
}
const good = await idp.token(ADMIN_SCOPE)

/** What the check finds about a token in a file, which is not part of it. */
async function check(t: Test, token: string, env: Record<string, string> = {}) {
  const file = join(t.testdir({ token }), 'token')
  const found = await tokenCheck
    .run(loadConfig({ ...SETTINGS, ...env }), { token: file })
    .catch(({ message, remedy }) => ({ problem: message, remedy }))
  if (token !== '') t.notMatch(JSON.stringify(found), token)
  return found
}

t.test('a token is checked as the API would', async (t) => {
  t.match(await check(t, `${good}\n`), /right of administrators/)
  t.match(await check(t, good, { IDP_AUDIENCE: 'other' }), {
    problem: /\naud: found "notifications-service", wanted "other" \(IDP_AUDIENCE\)$/,
  })
  t.match(await check(t, await idp.token()), { warning: /without the right/ })
  const away = { IDP_ADMIN_CLAIM: '/realm_access/roles' }
  t.match(await check(t, good, away), { problem: /at scope \(IDP_ADMIN_CLAIM\)\n/ })
  for (const garbage of ['no token', 'Bearer e30.e30.e30', ''])
    t.match(await check(t, garbage), { remedy: /^name a file that contains the token alone/ })
})

t.test('a token that can be a member names the party', async (t) => {
  const forMembers = { IDP_PARTY_CLAIM: 'party' }
  t.match(await check(t, await idp.forge({ scope: 'openid', member: 'PTY-1' }), forMembers), {
    warning: /\nparty: found no such claim among .*\bmember\b.*\(IDP_PARTY_CLAIM\)\nscope: found/,
    remedy: /^if the token is a member's, set IDP_PARTY_CLAIM/,
  })
  t.match(await check(t, await idp.forge({ scope: 'openid', party: 7 }), forMembers), {
    warning: /\nparty: found 7, wanted the member's locator, as a text \(IDP_PARTY_CLAIM\)/,
  })
  t.match(await check(t, await idp.forge({ scope: 'openid', party: 'PTY-1/ä' }), forMembers), {
    warning: /^accepted, without the right/,
    remedy: /unless the token is a member's, which it can be$/,
  })
})

t.test('the right of operators is told beside that of administrators', async (t) => {
  t.match(await check(t, good), /\nwithout the right of operators: IDP_OPERATOR_SCOPE is not set/)
  const forOperators = { IDP_OPERATOR_SCOPE: OPERATOR_SCOPE }
  t.match(
    await check(t, good, forOperators),
    /\nscope: found ".*", wanted "notifications:operator" \(IDP_OPERATOR_SCOPE or IDP_ADMIN_CLAIM\)$/,
  )
  const both = await idp.forge({ scope: `${ADMIN_SCOPE} ${OPERATOR_SCOPE}` })
  t.equal(
    await check(t, both, forOperators),
    'accepted, with the right of administrators\nwith the right of operators',
  )
  const elsewhere = await idp.forge({ scope: ADMIN_SCOPE, roles: [OPERATOR_SCOPE] })
  t.match(await check(t, elsewhere, forOperators), { problem: /which the token has at roles/ })
})
