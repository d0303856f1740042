/** Imports run one way: main → commands → app → the rooms → core. Rooms never import each other. */
const rooms = '^src/(kafka|postgres|party|senders|http|telemetry)/'

export default {
  forbidden: [
    {
      name: 'core-is-pure',
      comment: 'The core imports no platform module: no I/O, no clock, no randomness.',
      severity: 'error',
      from: { path: '^src/core/' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'core-stands-alone',
      comment: 'The core imports only itself and what is generated.',
      severity: 'error',
      from: { path: '^src/core/' },
      to: { path: '^src/', pathNot: '^src/(core|generated)/' },
    },
    {
      name: 'generated-knows-core-only',
      severity: 'error',
      from: { path: '^src/generated/' },
      to: { path: '^src/', pathNot: '^src/(core|generated)/' },
    },
    {
      name: 'rooms-never-import-each-other',
      comment: 'What two rooms share belongs to the core; what joins them belongs to app.ts.',
      severity: 'error',
      from: { path: '^src/([^/]+)/', pathNot: '^src/(commands|core|generated)/' },
      to: { path: '^src/', pathNot: '^src/($1|core|generated)/' },
    },
    {
      name: 'steps-know-core-only',
      comment: 'The pipeline, the retry and the replay take what they need as arguments.',
      severity: 'error',
      from: { path: '^src/(dispatch|retry|replay|backlog|patience|config)\\.ts$' },
      to: { path: '^src/', pathNot: '^src/core/' },
    },
    {
      name: 'only-the-root-knows-the-rooms',
      severity: 'error',
      from: { path: '^src/[^/]+\\.ts$', pathNot: '^src/app\\.ts$' },
      to: { path: rooms },
    },
    {
      name: 'commands-are-the-entry-s-alone',
      comment:
        'Each command puts together what it needs; what two of them share belongs to a room or to the core.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(main\\.ts$|commands/)' },
      to: { path: '^src/commands/' },
    },
    {
      name: 'tracing-is-loaded-on-demand',
      comment: 'Without OTEL_ENDPOINT nothing of the library is loaded, and nothing of it runs.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/telemetry/tracing\\.ts$' },
      to: {
        path: '^src/telemetry/tracing\\.ts$|node_modules/@opentelemetry/',
        dynamic: false,
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'nothing-imports-the-entry',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^src/main\\.ts$' },
    },
    {
      name: 'src-knows-no-tests',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^test/' },
    },
    {
      name: 'the-judge-stands-alone',
      comment: 'What chaos compares the service with shares no line with it.',
      severity: 'error',
      from: { path: '^test/chaos/(check|truth|parties|snapshot|records)\\.ts$' },
      to: { path: '^src/' },
    },
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    { name: 'no-unresolved', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    detectProcessBuiltinModuleCalls: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
}
