import t, { type Test } from 'tap'
import { AUDIENCE, startIdentityProvider } from '../../../stack/identity-provider.ts'
import { documentedApp } from '../documented.ts'
import { dependencies, tokensOf } from '../fixture.ts'

type Right = 'administrator' | 'member' | 'nobody'
/** The claims and scope of an administrator, the claim of a party, and tokens with the right that each gives. */
type Provider = readonly [
  adminClaim: string,
  adminScope: string,
  partyClaim: string,
  tokens: readonly (readonly [Right, object])[],
]

const account = { roles: ['manage-account', 'view-profile'] }
const of = (...roles: string[]) => ({ roles })

/** Claims as in the documentation of each provider. */
const PROVIDERS: Readonly<Record<string, Provider>> = {
  'Entra ID, app roles': [
    'roles',
    'Notifications.Admin',
    'extn.partyLocator',
    [
      ['administrator', of('Notifications.Admin')],
      ['administrator', { idtyp: 'app', ...of('Reports.Read', 'Notifications.Admin') }],
      ['member', { scp: 'Notifications.Admin', 'extn.partyLocator': 'PTY-1' }],
      ['nobody', { scp: 'Notifications.Admin' }],
      ['nobody', { ...of('notifications.admin'), 'extn.partyLocator': ['PTY-1'] }],
    ],
  ],
  'Okta, scopes': [
    'scp',
    'notifications:admin',
    'partyLocator',
    [
      ['administrator', { scp: ['openid', 'notifications:admin'] }],
      ['member', { scp: ['openid'], partyLocator: 'PTY-1' }],
      ['nobody', { scp: ['openid'] }],
      ['nobody', { scp: ['openid notifications:admin'] }],
    ],
  ],
  'Keycloak, realm roles': [
    '/realm_access/roles',
    'notifications-admin',
    'party',
    [
      ['administrator', { realm_access: of('offline_access', 'notifications-admin'), scope: 'email' }],
      ['member', { realm_access: of('offline_access'), party: 'PTY-1' }],
      ['nobody', { scope: 'notifications-admin' }],
      ['nobody', { resource_access: { account: of('notifications-admin') } }],
      ['nobody', { '/realm_access/roles': ['notifications-admin'] }],
    ],
  ],
  'Keycloak, client roles': [
    '/resource_access/notifications/roles',
    'admin',
    'party',
    [
      ['administrator', { resource_access: { account, notifications: of('admin') } }],
      ['member', { resource_access: { account }, party: 'PTY-1' }],
      ['nobody', { resource_access: { account: of('admin') } }],
    ],
  ],
  'Auth0, roles in a claim of its own': [
    'https://insurer.example/roles',
    'admin',
    'party',
    [
      ['administrator', { 'https://insurer.example/roles': ['admin'] }],
      ['member', { 'https://insurer.example/roles': [], party: 'PTY-1' }],
      ['nobody', { 'https://insurer.example/roles': { admin: true } }],
    ],
  ],
  'any, the default': [
    'scope',
    'notifications:admin',
    'party',
    [
      ['administrator', { scope: 'openid notifications:admin' }],
      ['administrator', { scope: ['openid', 'notifications:admin'] }],
      ['member', { scope: 'openid', party: 'PTY-1' }],
      ['nobody', { scope: null }],
      ['nobody', { scope: 'notifications' }],
      ['nobody', { scope: 1, party: 1 }],
    ],
  ],
}

const idp = await startIdentityProvider({
  realm_access: { roles: ['auditor', 'notifications-admin'] },
  party: 'PTY-1',
})
t.teardown(() => idp.stop())

/** Returns the rights of a token: to read the log, to read only the preferences of its own party, or none. */
function rightsBy(t: Test, adminClaim: string, adminScope: string, partyClaim: string) {
  const tokens = { ...tokensOf(idp), adminClaim, adminScope, partyClaim }
  const app = documentedApp(dependencies({ tokens }).all)
  t.teardown(() => app.close())
  return async (token: string): Promise<Right> => {
    const ask = (url: string) => app.inject({ url, headers: { authorization: `Bearer ${token}` } })
    const [log, preferences] = [await ask('/log/list'), await ask('/preferences/PTY-1')]
    if (log.statusCode === 200) return 'administrator'
    t.equal(log.statusCode, 403)
    t.equal(log.json().detail, `The token needs ${adminScope} in its claim ${adminClaim}.`)
    // Clients can request a scope, but no role.
    const scope = ['scope', 'scp'].includes(adminClaim) ? `, scope="${adminScope}"` : ''
    const challenge = `Bearer realm="notifications-service", error="insufficient_scope"${scope}`
    t.equal(log.headers['www-authenticate'], challenge)
    return preferences.statusCode === 404 ? 'member' : 'nobody'
  }
}

for (const [name, [adminClaim, adminScope, partyClaim, tokens]] of Object.entries(PROVIDERS)) {
  t.test(`${name}: the claim ${adminClaim} gives the rights of an administrator`, async (t) => {
    const rightOf = rightsBy(t, adminClaim, adminScope, partyClaim)
    for (const [right, claims] of tokens) {
      const token = await idp.forge({ scope: undefined, ...claims, aud: AUDIENCE } as never)
      t.equal(await rightOf(token), right, JSON.stringify(claims))
    }
  })
}

t.test('a token issued by oidc-provider is read by the configured claim', async (t) => {
  const token = await idp.token()
  const scope = 'notifications-admin'
  t.equal(await rightsBy(t, '/realm_access/roles', scope, 'party')(token), 'administrator')
  t.equal(await rightsBy(t, 'scope', scope, 'party')(token), 'member')
  t.equal(await rightsBy(t, 'scope', scope, 'sub')(token), 'nobody')
})
