export default { test: { include: ['*.suite.mjs'] } }
