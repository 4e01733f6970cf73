// See wrapper.mjs.
process.execPath = process.env.SESSION_TAPE_EXEC_PATH
process.argv[0] = process.execPath
