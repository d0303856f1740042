/** In place of the claim that names the party of a token: any valid token may use the preferences of any party. */
export const ANY_PARTY = 'none'
