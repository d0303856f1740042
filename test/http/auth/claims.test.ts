import t from 'tap'
import { AUDIENCE, startIdentityProvider } from '../../stack/identity-provider.ts'
import { documentedApp } from '../documented.ts'
import { dependencies, tokensOf } from '../fixture.ts'

/** Claims from which rights follow, as in each provider's documentation. */
interface Provider {
  readonly adminClaim: string
  readonly adminScope: string
  readonly partyClaim: string
  /** By the rights that a token gives. */
  readonly tokens: Readonly<Record<'administrator' | 'member' | 'nobody', readonly object[]>>
}

const ENTRA = {
  ver: '2.0',
  tid: 'f8cdef31-a31e-4b4a-93e4-5f571e91255a',
  oid: '690222be-ff1a-4d56-abd1-7e4f7d38e474',
  azp: '0b1b8b0e-5a3d-4a43-8a4c-1f1a9f0c4f4f',
}
const OKTA = {
  ver: 1,
  cid: '0oabucvyc38HLL1ef0h7',
  uid: '00uixa271s6x7qt8I0h7',
  jti: 'AT.0mP4JKAZX1iACIT4vbEDF7LpvDVjxypPMf0D7uX39RE',
}
const KEYCLOAK = {
  typ: 'Bearer',
  azp: 'console',
  'allowed-origins': ['https://console.insurer.example'],
  preferred_username: 'ann',
}
const account = { roles: ['manage-account', 'view-profile'] }
const AUTH0 = { azp: 'my_client_id', gty: 'password' }

const PROVIDERS: Readonly<Record<string, Provider>> = {
  'Entra ID, app roles': {
    adminClaim: 'roles',
    adminScope: 'Notifications.Admin',
    partyClaim: 'extn.partyLocator',
    tokens: {
      administrator: [
        { ...ENTRA, roles: ['Notifications.Admin'] },
        { ...ENTRA, idtyp: 'app', roles: ['Reports.Read', 'Notifications.Admin'] },
      ],
      member: [{ ...ENTRA, scp: 'Notifications.Admin', 'extn.partyLocator': 'PTY-1' }],
      nobody: [
        { ...ENTRA, scp: 'Notifications.Admin' },
        { ...ENTRA, roles: ['notifications.admin'], 'extn.partyLocator': ['PTY-1'] },
      ],
    },
  },
  'Entra ID, delegated': {
    adminClaim: 'scp',
    adminScope: 'notifications.admin',
    partyClaim: 'extn.partyLocator',
    tokens: {
      administrator: [{ ...ENTRA, scp: 'User.Read notifications.admin' }],
      member: [{ ...ENTRA, scp: 'User.Read', 'extn.partyLocator': 'PTY-1' }],
      nobody: [
        { ...ENTRA, scp: 'notifications.administer' },
        { ...ENTRA, roles: ['notifications.admin'] },
      ],
    },
  },
  'Okta, scopes': {
    adminClaim: 'scp',
    adminScope: 'notifications:admin',
    partyClaim: 'partyLocator',
    tokens: {
      administrator: [{ ...OKTA, scp: ['openid', 'notifications:admin'] }],
      member: [{ ...OKTA, scp: ['openid'], partyLocator: 'PTY-1' }],
      nobody: [
        { ...OKTA, scp: ['openid'] },
        { ...OKTA, scp: ['openid notifications:admin'] },
      ],
    },
  },
  'Okta, groups': {
    adminClaim: 'groups',
    adminScope: 'notifications-admins',
    partyClaim: 'partyLocator',
    tokens: {
      administrator: [{ ...OKTA, groups: ['Everyone', 'notifications-admins'], partyLocator: 'PTY-2' }],
      member: [{ ...OKTA, groups: ['Everyone'], partyLocator: 'PTY-1' }],
      nobody: [{ ...OKTA, groups: ['Everyone'], partyLocator: 'PTY-2' }],
    },
  },
  'Keycloak, realm roles': {
    adminClaim: '/realm_access/roles',
    adminScope: 'notifications-admin',
    partyClaim: 'party',
    tokens: {
      administrator: [
        {
          ...KEYCLOAK,
          realm_access: { roles: ['offline_access', 'notifications-admin'] },
          scope: 'email profile',
        },
      ],
      member: [{ ...KEYCLOAK, realm_access: { roles: ['offline_access'] }, party: 'PTY-1' }],
      nobody: [
        { ...KEYCLOAK, scope: 'notifications-admin' },
        { ...KEYCLOAK, resource_access: { account: { roles: ['notifications-admin'] } } },
        { ...KEYCLOAK, '/realm_access/roles': ['notifications-admin'] },
      ],
    },
  },
  'Keycloak, client roles': {
    adminClaim: '/resource_access/notifications/roles',
    adminScope: 'admin',
    partyClaim: 'party',
    tokens: {
      administrator: [{ ...KEYCLOAK, resource_access: { account, notifications: { roles: ['admin'] } } }],
      member: [{ ...KEYCLOAK, resource_access: { account }, party: 'PTY-1' }],
      nobody: [{ ...KEYCLOAK, resource_access: { account: { roles: ['admin'] } } }],
    },
  },
  'Auth0, permissions': {
    adminClaim: 'permissions',
    adminScope: 'admin:notifications',
    partyClaim: 'https://insurer.example/party',
    tokens: {
      administrator: [{ ...AUTH0, scope: 'openid', permissions: ['read:reports', 'admin:notifications'] }],
      member: [{ ...AUTH0, permissions: [], 'https://insurer.example/party': 'PTY-1' }],
      nobody: [{ ...AUTH0, scope: 'openid admin:notifications', permissions: [] }],
    },
  },
  'Auth0, roles in a claim of its own': {
    adminClaim: 'https://insurer.example/roles',
    adminScope: 'admin',
    partyClaim: 'https://insurer.example/party',
    tokens: {
      administrator: [{ ...AUTH0, 'https://insurer.example/roles': ['admin'] }],
      member: [{ ...AUTH0, 'https://insurer.example/roles': [], 'https://insurer.example/party': 'PTY-1' }],
      nobody: [{ ...AUTH0, 'https://insurer.example/roles': { admin: true } }],
    },
  },
  'any, the default': {
    adminClaim: 'scope',
    adminScope: 'notifications:admin',
    partyClaim: 'party',
    tokens: {
      administrator: [{ scope: 'openid notifications:admin' }, { scope: ['openid', 'notifications:admin'] }],
      member: [{ scope: 'openid', party: 'PTY-1' }],
      nobody: [{ scope: null }, { scope: 'notifications' }, { scope: 1, party: 1 }],
    },
  },
}

const idp = await startIdentityProvider({
  realm_access: { roles: ['auditor', 'notifications-admin'] },
  party: 'PTY-1',
})
t.teardown(() => idp.stop())

/** The rights of a token: to read the log, to read only the preferences of its own party, or none. */
async function rightsOf({ tokens: _, ...right }: Partial<Provider>, token: string): Promise<string> {
  const app = documentedApp(dependencies({ tokens: { ...tokensOf(idp), ...right } }).all)
  const statusOf = async (url: string) =>
    (await app.inject({ url, headers: { authorization: `Bearer ${token}` } })).statusCode
  const [log, preferences] = [await statusOf('/log/list'), await statusOf('/preferences/PTY-1')]
  await app.close()
  if (log === 200) return 'administrator'
  if (log !== 403) return `${log}`
  return preferences === 404 ? 'member' : 'nobody'
}

for (const [name, provider] of Object.entries(PROVIDERS)) {
  t.test(`${name}: the claim ${provider.adminClaim} gives the rights of an administrator`, async (t) => {
    for (const [right, tokens] of Object.entries(provider.tokens)) {
      for (const claims of tokens) {
        const token = await idp.forge({ scope: undefined, ...claims, aud: AUDIENCE } as never)
        t.equal(await rightsOf(provider, token), right, JSON.stringify(claims))
      }
    }
  })
}

t.test('a token issued by oidc-provider is read by the configured claim', async (t) => {
  const token = await idp.token()
  const right = { adminScope: 'notifications-admin', partyClaim: 'party' }
  t.equal(await rightsOf({ ...right, adminClaim: '/realm_access/roles' }, token), 'administrator')
  t.equal(await rightsOf({ ...right, adminClaim: 'scope' }, token), 'member')
  t.equal(await rightsOf({ ...right, adminClaim: 'scope', partyClaim: 'sub' }, token), 'nobody')
})

t.test('a refusal names a scope only if clients can request it', async (t) => {
  for (const [adminClaim, scope] of [
    ['scp', ', scope="admin"'],
    ['roles', ''],
  ]) {
    const tokens = { ...tokensOf(idp), adminScope: 'admin', adminClaim: String(adminClaim) }
    const app = documentedApp(dependencies({ tokens }).all)
    const headers = { authorization: `Bearer ${await idp.forge()}` }
    const response = await app.inject({ url: '/log/list', headers })
    const challenge = `Bearer realm="notifications-service", error="insufficient_scope"${scope}`
    t.equal(response.headers['www-authenticate'], challenge)
    t.equal(response.json().detail, `The token needs admin in its claim ${adminClaim}.`)
    await app.close()
  }
})
