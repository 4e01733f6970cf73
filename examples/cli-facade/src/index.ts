export * from './CheckpointService.js';
export * from './content.js';
export * from './ReplayEngine.js';
export * from './SessionDiscovery.js';
export * from './SessionLockManager.js';
export { deleteSession, deleteSessionById, listSessions, resumeSession } from './sessionManagement.js';
export * from './SessionRecordingService.js';
export * from './SessionTransitionService.js';
